#include "metis/config/suggest.h"

#include <gtest/gtest.h>

namespace metis::config {
namespace {

TEST(Suggest, FindsASlipOfTheKeyboard) {
  EXPECT_EQ(Suggest("polcy", {"quorum", "policy"}), "policy");
}

TEST(Suggest, FindsTheShortestWordThatStartsAlike) {
  EXPECT_EQ(Suggest("asinc", {"async-fedavg", "async-dvw-adaptive", "async-dvw", "fedasync"}),
            "async-dvw");
}

TEST(Suggest, SaysNothingWhenNothingComesNear) {
  EXPECT_EQ(Suggest("zzzzzzzz", {"policy", "quorum"}), "");
  EXPECT_EQ(Suggest("", {"policy", "quorum"}), "");
  EXPECT_EQ(Suggest("policy", {}), "");
}

TEST(Suggest, DidYouMeanIsEmptyOrASentence) {
  EXPECT_EQ(DidYouMean(": ", "polcy", {"policy"}), ": did you mean \"policy\"?");
  EXPECT_EQ(DidYouMean("; ", "sinc", {"sync"}, "[", "]"), "; did you mean [sync]?");
  EXPECT_EQ(DidYouMean(": ", "zzzzzzzz", {"policy"}), "");
}

}  // namespace
}  // namespace metis::config
