#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "metis/rpc/participant_client.h"
#include "tests/loopback/participant.h"

namespace metis::rpc {
namespace {

using federation::SendCommunity;
using testing::HasSubstr;

class ParticipantTransfersTest : public ParticipantClientTest {};

TEST_F(ParticipantTransfersTest, AnUploadIsTheUpdateAndItsModel) {
  for (v1::Encoding encoding : {v1::ENCODING_RAW, v1::ENCODING_ZSTD, v1::ENCODING_HALF}) {
    controller_.Stop();
    controller_.welcome.set_encoding(encoding);
    controller_.received.clear();
    controller_.uploads.clear();
    Connect();
    const federation::UpdateReceived update = Update(7, 4);
    controller_.Change([&] {  // in which no upload can begin
      client_->Send(update);
      client_->Send(update);  // is on its way already
    });
    ASSERT_TRUE(controller_.Await([&] { return controller_.received.size() == 1; }));
    // All values are whole numbers below 2048: binary16 holds them.
    EXPECT_EQ(controller_.received[0]->Fingerprint(), update.model->Fingerprint());
    ASSERT_EQ(controller_.uploads.size(), 1u);
    EXPECT_EQ(controller_.uploads[0].update().sequence(), 7u);
    EXPECT_EQ(controller_.uploads[0].update().steps(), 77u);
    client_->Close(Duration());
  }
}

TEST_F(ParticipantTransfersTest, AnUploadThatIsCutGoesOnWhereItStopped) {
  Connect();
  const uint64_t size = pool_.schema()->bytes();
  uint64_t sequence = 0;
  for (uint64_t cut : {uint64_t{1}, uint64_t{2 * wire::kChunkBytes}, size - 1, size}) {
    controller_.Change([&] {
      controller_.cut_after = cut;
      controller_.uploaded_bytes = 0;
      controller_.uploads.clear();
      controller_.received.clear();
    });
    const federation::UpdateReceived update = Update(++sequence, 5);
    client_->Send(update);
    ASSERT_TRUE(controller_.Await([&] { return controller_.received.size() == 1; })) << cut;
    EXPECT_EQ(controller_.received[0]->Fingerprint(), update.model->Fingerprint());
    EXPECT_EQ(controller_.uploads.size(), 2u) << cut;
    EXPECT_EQ(controller_.uploaded_bytes, size) << "no byte twice, cut at " << cut;
  }
}

TEST_F(ParticipantTransfersTest, AFinalRefusalOfAnUploadBecomesARejectionWithItsReason) {
  using federation::RejectReason;
  controller_.end_finally = true;
  controller_.end_reason = static_cast<uint32_t>(RejectReason::kSchema);
  Connect();
  client_->Send(Update(2, 1));
  const auto rejected = inbox_.Nth<federation::RejectUpdate>(1);
  EXPECT_EQ(rejected.id, (federation::UpdateId{kSelf, kLife, Sequence(2)}));
  EXPECT_EQ(rejected.reason, RejectReason::kSchema);
  EXPECT_EQ(rejected.message, "of no use");
  ASSERT_EQ(controller_.uploads.size(), 1u);
  EXPECT_EQ(controller_.uploads[0].schema_hash(), pool_.schema()->hash());

  // None, and one of a later version: its content is at fault, as far as is known.
  size_t heard = 1;
  for (const std::optional<uint32_t> reason : {std::optional<uint32_t>(), std::optional(9999u)}) {
    controller_.Change([&] { controller_.end_reason = reason; });
    client_->Send(Update(2 + heard, 1));
    EXPECT_EQ(inbox_.Nth<federation::RejectUpdate>(++heard).reason, RejectReason::kGate);
  }
}

TEST_F(ParticipantTransfersTest, AnUpdateWithoutAnAnswerIsUploadedAgainWhenItIsHandedOverAgain) {
  Connect();
  client_->Send(Update(1, 1));
  ASSERT_TRUE(controller_.Await([&] { return controller_.received.size() == 1; }));
  // The end of the transfer may still be on its way: until then it is the same transfer.
  size_t received = 1;
  for (int i = 0; i < 6000 && received < 2; ++i) {
    client_->Send(Update(1, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    controller_.Change([&] { received = controller_.received.size(); });
  }
  EXPECT_TRUE(controller_.Await([&] { return controller_.received.size() >= 2; }));
}

TEST_F(ParticipantTransfersTest, AMessageIsDeliveredWithItsModel) {
  for (v1::Encoding encoding : {v1::ENCODING_RAW, v1::ENCODING_ZSTD, v1::ENCODING_HALF}) {
    controller_.Stop();
    controller_.welcome.set_encoding(encoding);
    Connect();
    const size_t before = inbox_.Await(0).size();
    const SendCommunity offered = Community(12, 3);
    controller_.Offer(offered);
    const auto received = inbox_.Nth<SendCommunity>(before + 1);
    EXPECT_EQ(received.version, Version(12));
    EXPECT_EQ(received.incarnation, kLife);
    EXPECT_EQ(received.committed_steps, 120u);
    ASSERT_NE(received.model, nullptr);
    EXPECT_EQ(received.model->Fingerprint(), offered.model->Fingerprint());
    client_->Close(Duration());
  }
}

TEST_F(ParticipantTransfersTest, ADownloadThatIsCutGoesOnWhereItStopped) {
  Connect();
  const uint64_t size = pool_.schema()->bytes();
  size_t n = 0;
  for (uint64_t cut : {uint64_t{1}, uint64_t{2 * wire::kChunkBytes}, size - 1}) {
    controller_.Change([&] {
      controller_.cut_after = cut;
      controller_.downloaded_bytes = 0;
    });
    controller_.Offer(Community(n, static_cast<float>(n)));
    inbox_.Nth<SendCommunity>(++n);
    EXPECT_TRUE(controller_.Await([&] { return controller_.downloaded_bytes == size; }))
        << controller_.downloaded_bytes << " of " << size << ", cut at " << cut;
  }
}

TEST_F(ParticipantTransfersTest, AModelThatIsOfferedAgainIsDeliveredWithoutADownload) {
  Connect();
  const SendCommunity offered = Community(1, 6);
  controller_.Offer(offered);
  inbox_.Nth<SendCommunity>(1);
  controller_.Offer(offered);
  EXPECT_EQ(inbox_.Nth<SendCommunity>(2).model->Fingerprint(), offered.model->Fingerprint());
  controller_.Offer(Community(2, 7));
  inbox_.Nth<SendCommunity>(3);
  EXPECT_EQ(controller_.downloads.size(), 2u);
}

TEST_F(ParticipantTransfersTest, APartOfAModelSurvivesAControllerThatForgotItsOffer) {
  Connect();
  controller_.Change([&] { controller_.cut_after = wire::kChunkBytes; });
  const SendCommunity offered = Community(1, 6);
  const uint64_t fingerprint = offered.model->Fingerprint();
  // After the cut the controller knows nothing of it.
  controller_.Offer(offered);
  ASSERT_TRUE(controller_.Await([&] {
    if (controller_.cut_after != UINT64_MAX) return false;
    controller_.models.clear();
    return true;
  }));
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 2; }));
  controller_.Offer(offered);
  EXPECT_EQ(inbox_.Nth<SendCommunity>(1).model->Fingerprint(), fingerprint);
  EXPECT_EQ(controller_.downloads.back().offset, wire::kChunkBytes);
}

TEST_F(ParticipantTransfersTest, AnUnknownModelDropsItsMessageAndNothingElse) {
  Connect();
  controller_.Offer(Community(1, 1), false);
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 1; }));
  controller_.Offer(Evaluation(8, 2));
  EXPECT_EQ(inbox_.Nth<federation::RequestEvaluation>(1).update.learner, LearnerId(8));
  EXPECT_EQ(controller_.downloads.size(), 2u);
}

TEST_F(ParticipantTransfersTest, ASpoiledChunkIsFetchedAgain) {
  controller_.spoil = 1;
  Connect();
  const SendCommunity offered = Community(1, 1);
  controller_.Offer(offered);
  EXPECT_EQ(inbox_.Nth<SendCommunity>(1).model->Fingerprint(), offered.model->Fingerprint());
  EXPECT_EQ(controller_.downloads.size(), 2u);
  EXPECT_THAT(said(), HasSubstr("checksum"));
}

TEST_F(ParticipantTransfersTest, AModelThatIsNotTheAnnouncedOneBeginsAgainFromNothing) {
  Connect();
  const SendCommunity offered = Community(1, 1);
  const uint64_t fingerprint = offered.model->Fingerprint();
  controller_.Change([&] { controller_.sent_instead[fingerprint] = Of(2); });
  controller_.Offer(offered);
  EXPECT_EQ(inbox_.Nth<SendCommunity>(1).model->Fingerprint(), fingerprint);
  EXPECT_EQ(controller_.downloads.size(), 2u);
  for (const FakeController::Opening& opening : controller_.downloads) {
    EXPECT_EQ(opening.offset, 0u);
  }
}

TEST_F(ParticipantTransfersTest, MessagesWithoutAModelPassThoseThatWaitForOne) {
  controller_.hold_downloads = true;
  Connect();
  controller_.Offer(Community(1, 1));
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 1; }));
  controller_.Say(*wire::EncodeAction(federation::ReportSteps{kSelf, kLife, 5}, 0));
  EXPECT_EQ(inbox_.Nth<federation::ReportSteps>(1).committed_steps, 5u);
}

TEST_F(ParticipantTransfersTest, TwoAtOnceAndACommunityModelFirst) {
  controller_.hold_downloads = true;
  Connect();
  controller_.Offer(Evaluation(7, 1));
  controller_.Offer(Evaluation(8, 2));
  controller_.Offer(Evaluation(9, 3));
  controller_.Offer(Evaluation(7, 1));  // the same again
  const SendCommunity old = Community(1, 4);
  const SendCommunity offered = Community(2, 5);
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 2; }));
  controller_.Offer(old);
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 3; }));
  controller_.Offer(offered);
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() == 4; }));
  EXPECT_EQ(controller_.downloads[2].fingerprint, old.model->Fingerprint());
  EXPECT_EQ(controller_.downloads[3].fingerprint, offered.model->Fingerprint());
  controller_.Say(*wire::EncodeAction(
      federation::CancelEvaluation{kSelf, kLife, {LearnerId(9), Incarnation(2), Sequence(9)}}, 0));
  inbox_.Nth<federation::CancelEvaluation>(1);
  // The streams that were held end with the connection; afterwards everything comes.
  controller_.Stop();
  controller_.hold_downloads = false;
  controller_.Start();
  std::vector<uint32_t> evaluated;
  size_t communities = 0;
  for (const federation::Action& action : inbox_.Await(4)) {
    if (const auto* community = std::get_if<SendCommunity>(&action)) {
      ++communities;
      EXPECT_EQ(community->version, Version(2)) << "the older one was replaced";
    }
    if (const auto* request = std::get_if<federation::RequestEvaluation>(&action)) {
      evaluated.push_back(request->update.learner.value());
    }
  }
  EXPECT_EQ(communities, 1u);
  EXPECT_THAT(evaluated, testing::UnorderedElementsAre(7u, 8u));
  // Two are asked for at once, in whatever order the controller's threads look at them.
  EXPECT_THAT(offered.model->Fingerprint(), testing::AnyOf(controller_.downloads[4].fingerprint,
                                                           controller_.downloads[5].fingerprint));
}

TEST_F(ParticipantTransfersTest, ATransferThatStandsStillIsBegunAgain) {
  controller_.hold_downloads = true;
  controller_.Start();
  ParticipantClientOptions options = Options();
  options.stalled = Duration::Milliseconds(200);
  Dial(options);
  controller_.Offer(Community(1, 1));
  ASSERT_TRUE(controller_.Await([&] { return controller_.downloads.size() >= 2; }));
  controller_.Change([&] { controller_.hold_downloads = false; });
  inbox_.Nth<SendCommunity>(1);
}

}  // namespace
}  // namespace metis::rpc
