#include <gtest/gtest.h>

#include "metis/policy/testing.h"

namespace metis::policy {
namespace {

TEST(TrainingExamplesWeighting, WeighsByTrainingExamples) {
  const MadeUpCandidate made_up;
  const auto weighting = TrainingExamplesWeighting().make({});
  EXPECT_EQ(TrainingExamplesWeighting().evaluation, nullptr) << "nobody evaluates";
  EXPECT_EQ(weighting->Weigh(made_up.Of(137)), 137);
  EXPECT_EQ(weighting->LargestContribution(made_up.membership()),
            static_cast<double>(federation::TrainingExamples(5)));
}

TEST(TrainingExamplesWeighting, ItsOracleExpectsTheSame) {
  federation::WeighingFacts facts;
  facts.training_examples = 137;
  EXPECT_EQ(TrainingExamplesWeighting().expect({}, facts), 137);
}

// What any weighting may look at.
TEST(Candidate, SeesItsPreviousContributionAndItsPeers) {
  const MadeUpCandidate made_up;
  const federation::Candidate candidate = made_up.Of(1);
  EXPECT_EQ(candidate.previous, 2);
  const auto peers = candidate.peers.all();
  ASSERT_EQ(peers.size(), 3u);
  EXPECT_EQ(peers[2].learner, LearnerId(5));
  EXPECT_EQ(peers[2].contribution, 3);
  EXPECT_EQ(peers[2].training_examples, federation::TrainingExamples(5));
  EXPECT_EQ(peers[2].validation_examples, federation::ValidationExamples(5));
  EXPECT_EQ(peers[0].contribution, std::nullopt);
}

}  // namespace
}  // namespace metis::policy
