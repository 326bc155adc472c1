// Peers that join and then misbehave for as long as they live: one is silent, one does not read,
// one reads slowly, one sends as fast as it can. For tests only.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "metis/core/text.h"
#include "tests/loopback/raw_client.h"

namespace metis::soak {

class HostilePeer {
 public:
  virtual ~HostilePeer() = default;
};

// Joins, and never says a word again.
class SilentPeer : public HostilePeer {
 public:
  SilentPeer(ModelPool& pool, uint16_t port, const std::string& name, uint32_t life,
             int window_bytes = 8 << 20)
      : pool_(pool),
        channel_(rpc::Dial(Text("127.0.0.1:", port), grpc::InsecureChannelCredentials(), "",
                           window_bytes)),
        talk_(channel_, name, life) {
    EXPECT_TRUE(talk_.Join(*pool.schema()));
  }

 protected:
  ModelPool& pool_;
  const std::shared_ptr<grpc::Channel> channel_;
  rpc::Talk talk_;
};

// Says what is answered, and reads no answer; opens downloads, and reads none.
class PeerThatDoesNotRead final : public SilentPeer {
 public:
  PeerThatDoesNotRead(ModelPool& pool, uint16_t port, const std::string& name, uint32_t life)
      : SilentPeer(pool, port, name, life) {
    v1::OpenDownload open;
    open.set_token(talk_.welcome.token());
    const v1::ToParticipant community = talk_.Next(v1::ToParticipant::kCommunity);
    open.set_fingerprint(community.community().model().fingerprint());
    for (int i = 0; i < 4; ++i) {
      downloads_.push_back(std::make_unique<rpc::Transfer>(channel_, "Download"));
      downloads_.back()->Open(open);
    }
    speaker_ = std::thread([this] {
      while (!over_ && talk_.Beat()) continue;  // until it is cut off
    });
  }
  ~PeerThatDoesNotRead() override {
    over_ = true;
    talk_.Cancel();
    speaker_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::vector<std::unique_ptr<rpc::Transfer>> downloads_;
  std::thread speaker_;
};

// Reads less than it is answered, from a narrow window, so that the rest waits at the controller,
// until it is cut off; and downloads one model after the other.
class SlowlyReadingPeer final : public SilentPeer {
 public:
  SlowlyReadingPeer(ModelPool& pool, uint16_t port, const std::string& name, uint32_t life)
      : SilentPeer(pool, port, name, life, kWindowBytes) {
    open_.set_token(talk_.welcome.token());
    const v1::ToParticipant community = talk_.Next(v1::ToParticipant::kCommunity);
    open_.set_fingerprint(community.community().model().fingerprint());
    speaker_ = std::thread([this] {
      while (!over_ && talk_.Beat()) std::this_thread::sleep_for(kBetween / 10);
    });
    reader_ = std::thread([this] {
      v1::ToParticipant message;
      while (!over_ && talk_.Read(message)) {
        rpc::Transfer download(channel_, "Download");
        if (download.Open(open_)) download.Read();
        std::this_thread::sleep_for(kBetween);
      }
    });
  }
  ~SlowlyReadingPeer() override {
    over_ = true;
    talk_.Cancel();
    for (std::thread* each : {&speaker_, &reader_}) each->join();
  }

 private:
  static constexpr std::chrono::milliseconds kBetween{10};
  static constexpr int kWindowBytes = 64 << 10;

  v1::OpenDownload open_;
  std::atomic<bool> over_ = false;
  std::thread speaker_;
  std::thread reader_;
};

// Messages and updates as fast as they are taken; every answer is read.
class FloodingPeer final : public SilentPeer {
 public:
  FloodingPeer(ModelPool& pool, uint16_t port, const std::string& name, uint32_t life)
      : SilentPeer(pool, port, name, life) {
    reader_ = std::thread([this] {
      v1::ToParticipant message;
      while (talk_.Read(message)) continue;
    });
    speaker_ = std::thread([this] {
      v1::FromParticipant message;
      for (uint64_t epoch = 1; !over_; ++epoch) {
        message.mutable_epoch()->set_epoch(epoch);
        if (!talk_.Write(message)) return;
        ++messages_;
      }
    });
    uploader_ = std::thread([this] {
      for (uint64_t sequence = 1; !over_; ++sequence) Upload(sequence);
    });
  }
  ~FloodingPeer() override {
    over_ = true;
    talk_.Cancel();
    for (std::thread* each : {&reader_, &speaker_, &uploader_}) each->join();
  }

  uint64_t messages() const { return messages_; }
  uint64_t uploads() const { return uploads_; }

 private:
  void Upload(uint64_t sequence) {
    ModelDraft draft = pool_.Draft();
    for (float& value : draft.parameters()) value = static_cast<float>(sequence % 1000);
    const ModelPtr model = std::move(draft).Seal();
    rpc::Transfer transfer(channel_, "Upload");
    if (!transfer.Open(rpc::OpeningOf(talk_, model, sequence)) || !transfer.Read()) return;
    wire::ModelSender sender(model, wire::Encoding::kRaw);
    rpc::SendChunks(transfer, sender);
    if (transfer.Read()) ++uploads_;
  }

  std::atomic<bool> over_ = false;
  std::atomic<uint64_t> messages_ = 0;
  std::atomic<uint64_t> uploads_ = 0;
  std::thread reader_;
  std::thread speaker_;
  std::thread uploader_;
};

}  // namespace metis::soak
