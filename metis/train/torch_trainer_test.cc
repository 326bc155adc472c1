#include "metis/train/torch_trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <stop_token>
#include <thread>

#include "metis/data/catalogue.h"
#include "metis/train/instance_pool.h"
#include "metis/train/runtime.h"
#include "metis/train/testing.h"

namespace metis::train {
namespace {

using learner::EpochReport;
using learner::TrainingSettings;

ModelPtr Trained(learner::Trainer& trainer, uint64_t epochs) {
  for (uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    Result<EpochReport> report = trainer.TrainEpoch({1, epoch}, {});
    METIS_CHECK_MSG(report.ok(), report.error().message);
  }
  return *trainer.Snapshot();
}

uint64_t Bits(const ModelPtr& model) { return model->Fingerprint(); }

TEST(TorchTrainer, ASnapshotOfALoadedModelIsThatModel) {
  for (const char* name : {"mnist-cnn", "resnet-cifar:8", "cifar10-cnn", "logistic"}) {
    Bench bench(name, Squares({3, 32, 32}, 4, 8), {});
    EXPECT_EQ(Bits(*bench.trainer->Snapshot()), Bits(bench.initial)) << name;
  }
}

// One step of softmax regression on two features, by hand, in doubles.
TEST(TorchTrainer, AStepIsTheOneOfTheFormula) {
  data::DatasetParts parts;
  parts.name = "two";
  parts.shape = {1, 1, 2};
  parts.features = {1, 2, -1, 0.5F, 3, -2};
  parts.labels = {0, 1, 1};
  Result<data::Dataset> made = data::Dataset::Make(std::move(parts));
  auto set = std::make_shared<const data::Dataset>(std::move(*made));
  const double eta = 0.1, momentum = 0.5, mu = 0.2;
  Bench bench("logistic", set,
              {.learning_rate = eta, .momentum = momentum, .proximal = mu, .batch_size = 3});

  std::vector<double> w(6), u(6), received(6);  // weight 2x2, bias 2
  for (size_t i = 0; i < 6; ++i) received[i] = w[i] = bench.initial->parameters()[i];
  for (int step = 0; step < 2; ++step) {
    std::vector<double> gradient(6);
    for (uint32_t e = 0; e < 3; ++e) {
      const double x[] = {set->Features(e)[0], set->Features(e)[1]};
      double score[2], total = 0;
      for (int c = 0; c < 2; ++c)
        total += std::exp(score[c] = w[2 * c] * x[0] + w[2 * c + 1] * x[1] + w[4 + c]);
      for (int c = 0; c < 2; ++c) {
        const double error = std::exp(score[c]) / total - (set->labels()[e] == unsigned(c) ? 1 : 0);
        gradient[2 * c] += error * x[0] / 3;
        gradient[2 * c + 1] += error * x[1] / 3;
        gradient[4 + c] += error / 3;
      }
    }
    for (size_t i = 0; i < 6; ++i) {
      u[i] = momentum * u[i] - eta * (gradient[i] + mu * (w[i] - received[i]));
      w[i] += u[i];
    }
  }
  const ModelPtr trained = Trained(*bench.trainer, 2);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(trained->parameters()[i], w[i], 1e-6) << i;
}

TEST(TorchTrainer, LearnsWithEveryArchitecture) {
  struct Case {
    const char* name;
    data::Shape shape;
    uint32_t classes;
    double eta;
  };
  for (const Case& c :
       {Case{"mnist-cnn", {1, 28, 28}, 10, 0.05}, Case{"femnist-cnn", {1, 28, 28}, 12, 0.05},
        Case{"cifar10-cnn", {3, 32, 32}, 10, 0.02}, Case{"resnet-cifar:8", {3, 32, 32}, 10, 0.05},
        Case{"mlp:32", {1, 28, 28}, 10, 0.05}}) {
    Bench bench(c.name, Squares(c.shape, c.classes, 248),
                {.learning_rate = c.eta, .momentum = 0.75, .batch_size = 31});
    const double before = bench.Evaluate(bench.initial).loss;
    const double after = bench.Evaluate(Trained(*bench.trainer, 3)).loss;
    EXPECT_LT(after, 0.9 * before) << c.name;
  }
}

TEST(TorchTrainer, TheLargestResidualNetworkRuns) {
  Bench bench("resnet50", Squares({3, 32, 32}, 10, 9), {.learning_rate = 0.01, .batch_size = 4});
  EXPECT_EQ(bench.trainer->steps_per_epoch(), 2U);  // the ninth example joins the second four
  EXPECT_TRUE(bench.trainer->TrainEpoch({1, 1}, {}));
}

TEST(TorchTrainer, BeatsEightyPercentOnRealImages) {
  const data::KnownSet& known = *data::FindKnown("fashion-mnist");
  const std::string directory(known.system_directory);
  if (!data::IsComplete(known, directory)) GTEST_SKIP() << "no Fashion-MNIST in " << directory;
  Result<data::Dataset> train = data::LoadKnown(known, directory, data::Part::kTrain);
  Result<data::Dataset> test = data::LoadKnown(known, directory, data::Part::kTest);
  ASSERT_TRUE(train) << train.error().message;
  ASSERT_TRUE(test) << test.error().message;
  auto set = std::make_shared<const data::Dataset>(std::move(*train));
  auto test_set = std::make_shared<const data::Dataset>(std::move(*test));
  std::vector<uint32_t> subset(12000);
  std::iota(subset.begin(), subset.end(), 0U);

  const TrainingSettings settings = {.learning_rate = 0.05, .momentum = 0.75, .batch_size = 100};
  ArchitecturePtr architecture = *Architecture::For("mnist-cnn", *set);
  ModelPool pool(architecture->schema());
  auto trainer =
      *MakeTrainer(architecture, Examples::Of(set, subset), settings, pool, 1990, LearnerId(0));
  ASSERT_TRUE(trainer->Load(architecture->Initial(pool, 1990)));
  const ModelPtr model = Trained(*trainer, 3);
  const learner::Evaluation evaluation =
      *(*MakeEvaluator(architecture, Examples::All(test_set), settings))->Evaluate(*model);
  EXPECT_EQ(evaluation.counts.examples(), 10000U);
  EXPECT_GT(evaluation.counts.Headline(), 0.80);
  RecordProperty("accuracy", std::to_string(evaluation.counts.Headline()));
}

TEST(TorchTrainer, GivesTheSameBitsAloneAndBesideAnother) {
  for (const char* name : {"cifar10-cnn", "resnet-cifar:8"}) {
    TrainingSettings settings = {.learning_rate = 0.02, .batch_size = 16, .augmentation = true};
    Bench bench(name, Squares({3, 32, 32}, 5, 60), settings);
    const uint64_t alone = Bits(Trained(*bench.trainer, 2));
    const uint64_t other = Bits(Trained(*bench.Make(1), 2));
    EXPECT_NE(alone, other);  // another learner draws another order

    uint64_t first = 0, second = 0;
    std::jthread left([&] { first = Bits(Trained(*bench.Make(0), 2)); });
    std::jthread right([&] { second = Bits(Trained(*bench.Make(1), 2)); });
    left.join();
    right.join();
    EXPECT_EQ(first, alone) << name;
    EXPECT_EQ(second, other) << name;
    EXPECT_NE(alone, Bits(Trained(*bench.Make(0, 12), 2)));  // another seed
  }
}

// Some builds of OpenBLAS give wrong values once in a few hundred epochs when threads share them.
TEST(TorchTrainer, GivesTheSameBitsOnManyThreadsEveryTime) {
  Bench bench("mlp:16", Squares({1, 8, 8}, 3, 110), {.batch_size = 10});
  const uint64_t alone = Bits(Trained(*bench.trainer, 4));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int repetition = 0; repetition < 100; ++repetition) {
          if (Bits(Trained(*bench.Make(0), 4)) != alone) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(TorchTrainer, AnEpochTrainedAgainGivesTheSameBits) {
  Bench bench("mnist-cnn", Squares({1, 28, 28}, 5, 60), {.batch_size = 16});
  const uint64_t first = Bits(Trained(*bench.trainer, 2));
  ASSERT_TRUE(bench.trainer->Load(bench.initial));
  EXPECT_EQ(Bits(Trained(*bench.trainer, 2)), first);
}

TEST(TorchTrainer, NeedsNoMoreInstancesThanThreads) {
  Bench bench("mnist-cnn", Squares({1, 28, 28}, 5, 20), {.batch_size = 16});
  std::vector<std::unique_ptr<learner::Trainer>> trainers;
  for (uint64_t learner = 1; learner <= 20; ++learner) trainers.push_back(bench.Make(learner));
  std::set<uint64_t> models;
  for (auto& trainer : trainers) models.insert(Bits(Trained(*trainer, 1)));
  EXPECT_EQ(models.size(), 20U);
  EXPECT_EQ(bench.architecture->instances().made(), 1U);
}

TEST(TorchTrainer, MomentumRestartsUnlessItIsKept) {
  const auto set = Squares({1, 28, 28}, 5, 40);
  std::vector<uint64_t> results;
  for (bool keep : {false, true}) {
    Bench bench("logistic", set, {.batch_size = 16, .keep_momentum = keep});
    Trained(*bench.trainer, 1);
    ASSERT_TRUE(bench.trainer->Load(bench.initial));
    results.push_back(Bits(Trained(*bench.trainer, 1)));
  }
  Bench fresh("logistic", set, {.batch_size = 16});
  EXPECT_EQ(results[0], Bits(Trained(*fresh.trainer, 1)));
  EXPECT_NE(results[1], results[0]);
}

TEST(TorchTrainer, StopsWhenAskedAndMustBeLoadedAgain) {
  Bench bench("logistic", Squares({1, 28, 28}, 5, 40), {.batch_size = 4});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(bench.trainer->TrainEpoch({1, 1}, stop.get_token()));
  EXPECT_FALSE(bench.trainer->Snapshot());
  EXPECT_FALSE(bench.trainer->TrainEpoch({1, 1}, {}));
  ASSERT_TRUE(bench.trainer->Load(bench.initial));
  EXPECT_TRUE(bench.trainer->TrainEpoch({1, 1}, {}));
}

TEST(TorchTrainer, LocalStatisticsOutliveReceivedModels) {
  Bench bench("resnet-cifar:8", Squares({3, 32, 32}, 4, 40), {.batch_size = 20},
              /*share_statistics=*/false);
  const double first = bench.trainer->TrainEpoch({1, 1}, {})->training_loss;
  // Training itself normalises by the batch, so the same cycle again gives the same bits.
  const uint64_t once = Bits(*bench.trainer->Snapshot());
  ASSERT_TRUE(bench.trainer->Load(bench.initial));
  EXPECT_EQ(bench.trainer->TrainEpoch({1, 1}, {})->training_loss, first);
  EXPECT_EQ(Bits(*bench.trainer->Snapshot()), once);
  // A model without statistics can be evaluated all the same, and learns.
  ASSERT_TRUE(bench.trainer->Load(bench.initial));
  const ModelPtr trained = Trained(*bench.trainer, 6);
  EXPECT_LT(bench.Evaluate(trained).loss, bench.Evaluate(bench.initial).loss);
}

TEST(TorchTrainer, TrainsInBfloatsCloseToFloats) {
  const auto set = Squares({3, 32, 32}, 5, 100);
  for (const char* name : {"cifar10-cnn", "resnet-cifar:8"}) {
    std::vector<double> losses;
    for (learner::Precision precision : {learner::Precision::kFp32, learner::Precision::kBf16}) {
      Bench bench(name, set, {.learning_rate = 0.02, .batch_size = 20, .precision = precision});
      const uint64_t once = Bits(Trained(*bench.trainer, 2));
      losses.push_back(bench.trainer->TrainEpoch({1, 3}, {})->training_loss);
      EXPECT_EQ(once, Bits(Trained(*bench.Make(0), 2)));
    }
    EXPECT_NE(losses[0], losses[1]);  // or the setting did nothing
    EXPECT_NEAR(losses[0], losses[1], 0.15 * losses[0]) << name;
  }
}

TEST(TorchTrainer, RefusesWhatDoesNotSuit) {
  const auto grey = Squares({1, 28, 28}, 5, 10);
  ArchitecturePtr architecture = *Architecture::For("mnist-cnn", *grey);
  ModelPool pool(architecture->schema());
  auto none = MakeTrainer(architecture, Examples::Of(grey, {}), {}, pool, 1, LearnerId(3));
  EXPECT_EQ(none.error().message, "learner 3 has nothing to train on");
  auto augmented =
      MakeTrainer(architecture, Examples::All(grey), {.augmentation = true}, pool, 1, LearnerId(0));
  EXPECT_NE(augmented.error().message.find("is for colour images"), std::string::npos);
  auto other = MakeTrainer(architecture, Examples::All(Squares({1, 20, 20}, 5, 10)), {}, pool, 1,
                           LearnerId(0));
  EXPECT_NE(other.error().message.find(
                "was made for examples of 1x28x28 in 5 classes, squares has 1x20x20"),
            std::string::npos);
  auto lonely = Squares({3, 32, 32}, 2, 2);
  ArchitecturePtr residual = *Architecture::For("resnet-cifar:8", *lonely);
  ModelPool residual_pool(residual->schema());
  EXPECT_FALSE(
      MakeTrainer(residual, Examples::Of(lonely, {0}), {}, residual_pool, 1, LearnerId(0)));

  auto trainer = *MakeTrainer(architecture, Examples::All(grey), {}, pool, 1, LearnerId(0));
  EXPECT_EQ(trainer->TrainEpoch({1, 1}, {}).error().message, "no model was loaded to train");
  Result<void> wrong = trainer->Load(residual->Initial(residual_pool, 1));
  EXPECT_NE(wrong.error().message.find("was it made for another architecture"), std::string::npos);
}

TEST(TorchEvaluator, CountsEveryExampleUnderItsLabel) {
  const auto set = Squares({1, 28, 28}, 5, 23);
  Bench bench("mnist-cnn", set, {.batch_size = 10});
  Examples examples = Examples::Of(set, {0, 1, 2, 5, 9});
  examples.labels = {4, 4, 4, 4, 4};  // a site whose labels are all wrong
  auto evaluator = *MakeEvaluator(bench.architecture, examples, bench.settings);
  EXPECT_EQ(evaluator->declared().class_counts(), (std::vector<uint64_t>{0, 0, 0, 0, 5}));
  EXPECT_EQ(evaluator->batches(), 1U);
  EXPECT_EQ(evaluator->Evaluate(*bench.initial)->counts.AsConfusion().RowSums(),
            evaluator->declared().class_counts());
  const learner::Evaluation all = bench.Evaluate(bench.initial);
  EXPECT_EQ(all.counts.AsConfusion().RowSums(), (std::vector<uint64_t>{5, 5, 5, 4, 4}));
  EXPECT_NEAR(all.loss, std::log(5), 0.3);
}

TEST(TorchEvaluator, DoesNotDependOnTheSizeOfItsBatches) {
  Bench bench("resnet-cifar:8", Squares({3, 32, 32}, 5, 23), {.batch_size = 7});
  const ModelPtr model = Trained(*bench.trainer, 1);
  const learner::Evaluation small = bench.Evaluate(model);
  bench.settings.batch_size = 23;
  const learner::Evaluation large = bench.Evaluate(model);
  EXPECT_EQ(small.counts, large.counts);
  EXPECT_NEAR(small.loss, large.loss, 1e-4);
}

TEST(TorchEvaluator, SurvivesAModelThatIsNotFinite) {
  Bench bench("mnist-cnn", Squares({1, 28, 28}, 5, 10), {.batch_size = 10});
  std::vector<float> values(bench.pool.schema()->parameters(),
                            std::numeric_limits<float>::quiet_NaN());
  const learner::Evaluation evaluation = bench.Evaluate(bench.pool.Copy(values));
  EXPECT_EQ(evaluation.counts.examples(), 10U);
  EXPECT_FALSE(std::isfinite(evaluation.loss));
}

TEST(TorchEvaluator, OfNothingCountsNothing) {
  const auto set = Squares({1, 28, 28}, 5, 10);
  Bench bench("mnist-cnn", set, {});
  auto evaluator = *MakeEvaluator(bench.architecture, Examples::Of(set, {}), {});
  EXPECT_EQ(evaluator->Evaluate(*bench.initial)->counts.examples(), 0U);
  EXPECT_EQ(evaluator->batches(), 0U);
}

TEST(Runtime, SaysNothingAboutFloats) {
  EXPECT_EQ(PrecisionWarning(FastestPrecision()), "") << "the fastest is nothing to warn of";
  EXPECT_EQ(PrecisionWarning(learner::Precision::kFp32), "");
}

}  // namespace
}  // namespace metis::train
