#include "metis/store/blob_store.h"

#include <sys/stat.h>

#include <atomic>
#include <limits>
#include <thread>

#include "metis/store/testing.h"

namespace metis::store {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BlobStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<BlobStore> Open() { return BlobStore::Open(home_ / "blobs", pool()).value(); }
  std::string PathOf(const std::string& name) const { return home_ / ("blobs/" + name); }
  ModelPool& pool() { return models_.pool(); }
  size_t Files() const {
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(home_ / "blobs")) {
      files += entry.path().filename().string().size() == 64;
    }
    return files;
  }

  TemporaryDirectory home_;
  federation::Models models_;
};

TEST_F(BlobStoreTest, AModelReadsBackBitForBit) {
  const ModelPtr model = models_.Of({1.5f, -0.0f, 3e-42f, std::numeric_limits<float>::quiet_NaN(),
                                     -std::numeric_limits<float>::infinity()});
  const std::string name = Open()->Keep(model).value();
  auto reopened = Open();
  EXPECT_TRUE(SameBits(reopened->Read(name).value(), model));
  EXPECT_EQ(reopened->bytes(), model->bytes().size());
}

TEST_F(BlobStoreTest, AFileHoldsTheValuesAndIsNamedByTheirSha256) {
  const std::string name = Open()->Keep(pool().Zero()).value();
  EXPECT_EQ(name, "de47c9b27eb8d300dbb5f2c353e632c393262cf06340c4fa7f1b40c4cbd36f90");
  EXPECT_EQ(BytesOf(PathOf(name)), std::string(20, '\0'));
}

TEST_F(BlobStoreTest, TheSameObjectAgainTouchesNothing) {
  auto blobs = Open();
  const ModelPtr model = models_.From(1);
  const std::string name = blobs->Keep(model).value();
  const ModelPtr read = blobs->Read(name).value();
  fs::rename(PathOf(name), home_ / "aside");
  EXPECT_EQ(blobs->Keep(model).value(), name);
  EXPECT_EQ(blobs->Keep(read).value(), name) << "what was read is kept already";
  EXPECT_FALSE(fs::exists(PathOf(name)));
}

TEST_F(BlobStoreTest, EqualValuesAreNotWrittenAgain) {
  auto blobs = Open();
  const std::string name = blobs->Keep(models_.From(1)).value();
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat(PathOf(name).c_str(), &before), 0);
  EXPECT_EQ(blobs->Keep(models_.From(1)).value(), name);
  ASSERT_EQ(::stat(PathOf(name).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(blobs->bytes(), 20u);
}

TEST_F(BlobStoreTest, AnObjectThatIsGoneVouchesForNoOtherAtItsAddress) {
  auto blobs = Open();
  const ModelPtr model = models_.From(1);
  ModelPtr first(std::make_shared<int>(), model.get());  // the same address, a life of its own
  const std::string name = blobs->Keep(first).value();
  first = nullptr;
  ASSERT_TRUE(blobs->RemoveAllBut({}));
  ASSERT_FALSE(fs::exists(PathOf(name)));
  EXPECT_EQ(blobs->Keep(model).value(), name);
  EXPECT_TRUE(fs::exists(PathOf(name)));
}

TEST_F(BlobStoreTest, ManyModelsThatComeAndGoAreAllKept) {
  auto blobs = Open();
  std::set<std::string> names;
  for (int i = 0; i < 200; ++i) {
    names.insert(blobs->Keep(models_.From(static_cast<float>(i))).value());
  }
  EXPECT_EQ(names.size(), 200u);
  EXPECT_EQ(Files(), 200u);
}

TEST_F(BlobStoreTest, AFileOfTheWrongSizeIsReplaced) {
  const std::string name = Open()->Keep(models_.From(1)).value();
  fs::resize_file(PathOf(name), 7);
  auto blobs = Open();
  EXPECT_EQ(blobs->Keep(models_.From(1)).value(), name);
  EXPECT_TRUE(SameBits(blobs->Read(name).value(), models_.From(1)));
  EXPECT_EQ(blobs->bytes(), 20u);
}

TEST_F(BlobStoreTest, SeveralThreadsKeepTheSameAndOtherModels) {
  auto blobs = Open();
  const ModelPtr shared = models_.From(-7);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const ModelPtr own = models_.From(static_cast<float>(t % 3 * 100 + i));  // two threads each
        const Result<std::string> name = blobs->Keep(own);
        if (!name || !blobs->Keep(shared) || !SameBits(*blobs->Read(*name), own)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Files(), 31u);
  EXPECT_EQ(blobs->bytes(), 31u * 20);
}

TEST_F(BlobStoreTest, AnyChangedByteAndAnyCutIsNoticedAndNamed) {
  auto blobs = Open();
  const std::string name = blobs->Keep(models_.From(1)).value();
  const std::string good = BytesOf(PathOf(name));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    PutBytes(PathOf(name), bad);
    Result<ModelPtr> read = blobs->Read(name);
    ASSERT_FALSE(read) << i;
    EXPECT_THAT(read.error().message, HasSubstr(PathOf(name) + ": the values do not have"));
    PutBytes(PathOf(name), good.substr(0, i));
    EXPECT_THAT(blobs->Read(name).error().message, HasSubstr("the file has"));
  }
  fs::remove(PathOf(name));
  EXPECT_THAT(blobs->Read(name).error().message, HasSubstr("No such file"));
}

TEST_F(BlobStoreTest, OnlyNamesOfItsOwnAreRead) {
  auto blobs = Open();
  PutBytes(home_ / "secret", std::string(20, 's'));
  for (const std::string name : {"../secret", "", "lock", "DE47"}) {
    EXPECT_THAT(blobs->Read(name).error().message, HasSubstr("names no model in"));
  }
}

TEST_F(BlobStoreTest, AModelOfAnotherSchemaIsRefused) {
  federation::Models others(6);
  EXPECT_THAT(Open()->Keep(others.From(1)).error().message, HasSubstr("another schema"));
}

TEST_F(BlobStoreTest, WhatACrashLeftUnfinishedIsRemoved) {
  const std::string name = Open()->Keep(models_.From(1)).value();
  PutBytes(PathOf(std::string(64, 'a') + ".new"), "half");
  PutBytes(PathOf("notes.new"), "of somebody");
  auto blobs = Open();
  EXPECT_FALSE(fs::exists(PathOf(std::string(64, 'a') + ".new")));
  EXPECT_TRUE(fs::exists(PathOf("notes.new")));
  EXPECT_TRUE(blobs->Read(name).ok());
}

TEST_F(BlobStoreTest, RemovingSparesWhatIsNamedAndWhatSomebodyHolds) {
  auto blobs = Open();
  const std::string named = blobs->Keep(models_.From(1)).value();
  ModelPtr model = models_.From(2);
  const std::string held = blobs->Keep(model).value();
  const std::string gone = blobs->Keep(models_.From(3)).value();
  ASSERT_TRUE(blobs->RemoveAllBut({named}));
  EXPECT_TRUE(fs::exists(PathOf(named)));
  EXPECT_TRUE(fs::exists(PathOf(held)));
  EXPECT_FALSE(fs::exists(PathOf(gone)));
  EXPECT_EQ(blobs->bytes(), 40u);
  model = nullptr;
  ASSERT_TRUE(blobs->RemoveAllBut({}));
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(blobs->bytes(), 0u);
  EXPECT_TRUE(blobs->Read(blobs->Keep(models_.From(3)).value()).ok()) << "removed, and kept again";
}

TEST_F(BlobStoreTest, AModelThatIsKeptWhileOthersAreRemovedStays) {
  auto blobs = Open();
  std::atomic<bool> done = false;
  std::thread remover([&] {
    while (!done) (void)blobs->RemoveAllBut({});
  });
  int lost = 0;
  for (int i = 0; i < 300; ++i) {
    const ModelPtr model = models_.From(static_cast<float>(i % 3));
    const std::string name = blobs->Keep(model).value();
    lost += !blobs->Read(name).ok();
  }
  done = true;
  remover.join();
  EXPECT_EQ(lost, 0);
}

TEST_F(BlobStoreTest, ASecondOneInTheSameDirectoryIsRefused) {
  auto blobs = Open();
  Result<std::unique_ptr<BlobStore>> second = BlobStore::Open(home_ / "blobs", pool());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(Text("in use by process ", ::getpid())));
}

TEST_F(BlobStoreTest, AFullDiskIsSaidAndLeavesNothingBehind) {
  auto blobs = Open();
  const ModelPtr model = models_.From(1);
  {
    FullDisk full(8);
    Result<std::string> kept = blobs->Keep(model);
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(kept.error().message, HasSubstr("free some space"));
  }
  EXPECT_EQ(AllFiles(home_.path()).size(), 1u) << "the lock alone";
  EXPECT_TRUE(SameBits(blobs->Read(blobs->Keep(model).value()).value(), model));
}

TEST_F(BlobStoreTest, APlaceThatCannotBeADirectoryIsSaid) {
  PutBytes(home_ / "file", "x");
  EXPECT_THAT(BlobStore::Open(home_ / "file/blobs", pool()).error().message,
              HasSubstr("file/blobs: making it failed"));
}

}  // namespace
}  // namespace metis::store
