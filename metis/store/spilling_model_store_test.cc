#include "metis/store/spilling_model_store.h"

#include "metis/core/random.h"
#include "metis/federation/community.h"
#include "metis/store/testing.h"

namespace metis::store {
namespace {

using federation::Community;
using federation::Gate;
using federation::MemoryModelStore;
using federation::Values;

class SpillingModelStoreTest : public ::testing::Test {
 protected:
  TemporaryDirectory home_;
  federation::Models models_{7};
  std::unique_ptr<BlobStore> blobs_ = BlobStore::Open(home_ / "blobs", models_.pool()).value();
  const uint64_t one_ = models_.schema()->bytes();
};

TEST_F(SpillingModelStoreTest, TheOnesPutLongestAgoGoToTheDisk) {
  SpillingModelStore store(*blobs_, 2 * one_);
  for (uint32_t k : {5u, 1u, 3u}) {
    ASSERT_TRUE(store.Put(LearnerId(k), models_.From(static_cast<float>(k))));
  }
  EXPECT_EQ(store.bytes_in_memory(), 2 * one_);
  EXPECT_EQ(blobs_->bytes(), one_) << "learner 5 alone";
  ASSERT_TRUE(store.Put(LearnerId(5), models_.From(50)));
  EXPECT_EQ(blobs_->bytes(), 2 * one_) << "now learner 1";
  EXPECT_EQ(Values(store.Get(LearnerId(5)).value()), Values(models_.From(50)));
  EXPECT_EQ(Values(store.Get(LearnerId(1)).value()), Values(models_.From(1)));
  EXPECT_EQ(Values(store.Get(LearnerId(3)).value()), Values(models_.From(3)));
  store.Erase(LearnerId(3));
  store.Erase(LearnerId(1));
  EXPECT_EQ(store.bytes_in_memory(), one_);
  EXPECT_EQ(store.Get(LearnerId(3)).error().code, ErrorCode::kNotFound);
}

// A round replaces all models: those of the round before must not come back into memory for it.
TEST_F(SpillingModelStoreTest, ReplacingAllReadsNoneOfTheOldOnes) {
  SpillingModelStore store(*blobs_, 0);
  Community community(models_.From(0), Gate(), models_.pool(), store);
  ASSERT_TRUE(community.ReplaceAll(
      {{LearnerId(0), 0.25, models_.From(1)}, {LearnerId(1), 1, models_.From(2)}}));
  for (const auto& [path, bytes] : AllFiles(home_.path())) {
    if (bytes.size() == one_) PutBytes(path, std::string(one_, 'x'));
  }
  ASSERT_FALSE(store.Get(LearnerId(0)).ok());
  ASSERT_TRUE(community.ReplaceAll(
      {{LearnerId(0), 3, models_.From(5)}, {LearnerId(2), 1, models_.From(6)}}, 3));
  EXPECT_EQ(community.scale(), 4) << "raised, for which the old ones are no longer needed either";
  EXPECT_EQ(community.contribution(LearnerId(0)), 3);
  EXPECT_EQ(Values(store.Get(LearnerId(0)).value()), Values(models_.From(5)));
  EXPECT_EQ(store.Get(LearnerId(1)).error().code, ErrorCode::kNotFound);
}

TEST_F(SpillingModelStoreTest, WhatIsSetAsideLeavesMemoryIfItIsOnTheDisk) {
  SpillingModelStore store(*blobs_, 10 * one_);
  const ModelPtr kept = models_.From(1);
  ASSERT_TRUE(blobs_->Keep(kept));
  ASSERT_TRUE(store.Put(LearnerId(1), kept));
  ASSERT_TRUE(store.Put(LearnerId(2), models_.From(2)));
  for (uint32_t k : {1u, 1u, 2u, 3u}) store.SetAside(LearnerId(k));
  EXPECT_EQ(store.bytes_in_memory(), one_) << "learner 2's has no file";
  EXPECT_EQ(Values(store.Get(LearnerId(1)).value()), Values(models_.From(1)));
  EXPECT_EQ(Values(store.Get(LearnerId(2)).value()), Values(models_.From(2)));
  ASSERT_TRUE(store.Put(LearnerId(1), models_.From(3)));
  EXPECT_EQ(store.bytes_in_memory(), 2 * one_);
}

TEST_F(SpillingModelStoreTest, ASnapshotRefersToFilesWithoutReadingThem) {
  SpillingModelStore store(*blobs_, one_);
  MemoryModelStore memory;
  Community spilled(models_.From(0), Gate{}, models_.pool(), store);
  Community in_memory(models_.From(0), Gate{}, models_.pool(), memory);
  for (uint32_t k : {0u, 1u, 2u}) {
    const ModelPtr model = models_.From(static_cast<float>(k));
    ASSERT_TRUE(spilled.Replace(LearnerId(k), 0.5, model));
    ASSERT_TRUE(in_memory.Replace(LearnerId(k), 0.5, model));
  }
  for (const auto& [path, bytes] : AllFiles(home_.path())) std::filesystem::remove(path);
  BinaryWriter by_reference;
  spilled.Save(by_reference);
  BinaryWriter whole;
  in_memory.Save(whole);
  EXPECT_EQ(by_reference.archived().bytes, whole.archived().bytes);
  ASSERT_EQ(by_reference.archived().files.size(), 2u);
  for (const auto& [place, file] : by_reference.archived().files) {
    EXPECT_EQ(by_reference.archived().models[place], nullptr);
    EXPECT_EQ(file, blobs_->Keep(whole.archived().models[place]).value());
  }
}

TEST_F(SpillingModelStoreTest, WhatTheDiskRefusesStaysInMemory) {
  SpillingModelStore store(*blobs_, 0);
  {
    FullDisk full(8);
    ASSERT_TRUE(store.Put(LearnerId(0), models_.From(1)));
    ASSERT_TRUE(store.Put(LearnerId(1), models_.From(2)));
    EXPECT_EQ(store.bytes_in_memory(), 2 * one_);
    EXPECT_EQ(Values(store.Get(LearnerId(0)).value()), Values(models_.From(1)));
  }
  ASSERT_TRUE(store.Put(LearnerId(2), models_.From(3)));
  EXPECT_EQ(store.bytes_in_memory(), 0u) << "all of them, once there is space";
  EXPECT_EQ(Values(store.Get(LearnerId(1)).value()), Values(models_.From(2)));
}

TEST_F(SpillingModelStoreTest, ADamagedFileIsAnErrorNotAModel) {
  SpillingModelStore store(*blobs_, 0);
  ASSERT_TRUE(store.Put(LearnerId(0), models_.From(1)));
  for (const auto& [path, bytes] : AllFiles(home_.path())) {
    if (bytes.size() == one_) PutBytes(path, std::string(one_, 'x'));
  }
  EXPECT_FALSE(store.Get(LearnerId(0)));
}

// What a controller that fits while it runs needs to start again.
TEST_F(SpillingModelStoreTest, ACommunityIsRestoredWithFewModelsInMemory) {
  constexpr uint32_t kLearners = 20;
  SpillingModelStore store(*blobs_, 0);
  Community before(models_.From(0), Gate{}, models_.pool(), store);
  for (uint32_t k = 0; k < kLearners; ++k) {
    ASSERT_TRUE(before.Replace(LearnerId(k), 0.5 + 0.01 * k, models_.From(0.1f * float(k))));
  }
  BinaryWriter writer;
  before.Save(writer);
  Archived archived = std::move(writer).Take();
  ASSERT_EQ(archived.files.size(), kLearners);

  blobs_ = nullptr;
  ModelPool pool(models_.schema());  // counts
  blobs_ = BlobStore::Open(home_ / "blobs", pool).value();
  archived.read = [&](const std::string& file) { return blobs_->Read(file); };
  SpillingModelStore spilling(*blobs_, 0);
  Community after(pool.Zero(), Gate{}, pool, spilling);
  BinaryReader reader(archived);
  ASSERT_TRUE(after.Restore(reader));
  ASSERT_TRUE(reader.Finish());
  constexpr size_t kFew = 4;
  EXPECT_LE(pool.allocated(), kFew);

  MemoryModelStore memory;
  Community expected(models_.From(0), Gate{}, models_.pool(), memory);
  for (uint32_t k = 0; k < kLearners; ++k) {
    ASSERT_TRUE(expected.Replace(LearnerId(k), 0.5 + 0.01 * k, models_.From(0.1f * float(k))));
  }
  for (Community* each : {&after, &expected}) {
    ASSERT_TRUE(each->Replace(LearnerId(3), 0.75, models_.From(-3)));
    ASSERT_TRUE(each->Withdraw(LearnerId(5)));
  }
  EXPECT_TRUE(SameBits(after.Current(), expected.Current()));
  EXPECT_LE(pool.allocated(), kFew);
  for (Community* each : {&after, &expected}) ASSERT_TRUE(each->RaiseScale(64));
  EXPECT_TRUE(SameBits(after.Current(), expected.Current()));
  EXPECT_EQ(StateBytes(after), StateBytes(expected));
  EXPECT_LE(pool.allocated(), kFew);
}

// The next round's models come beside them: a restart must not need more than the run did.
TEST_F(SpillingModelStoreTest, ARoundIsRestoredToTheDiskWhateverTheBudget) {
  SpillingModelStore store(*blobs_, 0);
  Community before(models_.From(0), Gate{}, models_.pool(), store);
  ASSERT_TRUE(before.ReplaceAll({{LearnerId(0), 0.25, models_.From(1)},
                                 {LearnerId(1), 1, models_.From(2)},
                                 {LearnerId(2), 0.5, models_.From(3)}}));
  BinaryWriter writer;
  before.Save(writer);
  Archived archived = std::move(writer).Take();
  archived.read = [&](const std::string& file) { return blobs_->Read(file); };
  for (const bool set_aside : {false, true}) {
    SpillingModelStore roomy(*blobs_, 100 * one_);
    Community after(models_.From(0), Gate{}, models_.pool(), roomy);
    BinaryReader reader(archived);
    ASSERT_TRUE(after.Restore(reader, set_aside));
    EXPECT_EQ(roomy.bytes_in_memory(), set_aside ? 0 : 3 * one_);
    EXPECT_TRUE(SameBits(after.Recompute().value(), before.Current()));
  }
}

class AnyBudget : public SpillingModelStoreTest, public ::testing::WithParamInterface<uint64_t> {};

// One history of a community, told to two that differ in their store only.
TEST_P(AnyBudget, ACommunityIsTheSameToTheBitWithAnyBudget) {
  SpillingModelStore spilling(*blobs_, GetParam() * one_);
  MemoryModelStore memory;
  Community a(models_.From(0), Gate{}, models_.pool(), spilling);
  Community b(models_.From(0), Gate{}, models_.pool(), memory);
  Random random({.seed = 11, .purpose = Purpose::kTest});
  for (int step = 0; step < 120; ++step) {
    const LearnerId learner(static_cast<uint32_t>(random.Below(6)));
    if (random.Chance(0.15)) {
      EXPECT_EQ(a.Withdraw(learner).ok(), b.Withdraw(learner).ok());
    } else if (random.Chance(0.1)) {
      std::vector<federation::Contribution> all;
      for (uint32_t k = 0; k < 6; k += 1 + static_cast<uint32_t>(random.Below(2))) {
        all.push_back({LearnerId(k), random.Uniform(), models_.From(float(random.Normal()))});
      }
      EXPECT_TRUE(a.ReplaceAll(all));
      EXPECT_TRUE(b.ReplaceAll(all));
    } else {
      const double contribution = random.Uniform();
      const ModelPtr model = models_.From(float(random.Normal()));
      EXPECT_TRUE(a.Replace(learner, contribution, model));
      EXPECT_TRUE(b.Replace(learner, contribution, model));
    }
    ASSERT_TRUE(SameBits(a.Current(), b.Current())) << step;
    ASSERT_EQ(StateBytes(a), StateBytes(b)) << step;
    ASSERT_LE(spilling.bytes_in_memory(), GetParam() * one_);
  }
  ASSERT_TRUE(a.RaiseScale(64));
  ASSERT_TRUE(b.RaiseScale(64));
  EXPECT_TRUE(SameBits(a.Recompute().value(), b.Recompute().value()));
}

INSTANTIATE_TEST_SUITE_P(Models, AnyBudget, ::testing::Values(0, 1, 3, 1000));

}  // namespace
}  // namespace metis::store
