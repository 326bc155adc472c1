#include "metis/federation/model_store.h"

#include <gtest/gtest.h>

#include "metis/federation/testing.h"

namespace metis::federation {
namespace {

TEST(MemoryModelStore, KeepsTheLatestModelOfEveryLearner) {
  Models models;
  MemoryModelStore store;
  ModelPtr first = models.From(1), second = models.From(2), other = models.From(3);
  ASSERT_TRUE(store.Put(LearnerId(4), first).ok());
  ASSERT_TRUE(store.Put(LearnerId(9), other).ok());
  ASSERT_TRUE(store.Put(LearnerId(4), second).ok());
  EXPECT_EQ(*store.Get(LearnerId(4)), second);
  EXPECT_EQ(*store.Get(LearnerId(9)), other);
}

TEST(MemoryModelStore, AnErasedModelIsNotFound) {
  Models models;
  MemoryModelStore store;
  ASSERT_TRUE(store.Put(LearnerId(4), models.From(1)).ok());
  store.Erase(LearnerId(4));
  store.Erase(LearnerId(5));  // nothing there: nothing happens
  Result<ModelPtr> gone = store.Get(LearnerId(4));
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

TEST(MemoryModelStore, LetsGoOfAReplacedModel) {
  Models models;
  MemoryModelStore store;
  ModelPtr model = models.From(1);
  std::weak_ptr<const Model> watched = model;
  ASSERT_TRUE(store.Put(LearnerId(4), std::move(model)).ok());
  ASSERT_TRUE(store.Put(LearnerId(4), models.From(2)).ok());
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace metis::federation
