#include "metis/builtin/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "metis/data/partition.h"

namespace metis::builtin {
namespace {

using learner::EpochKey;
using learner::TrainingSettings;
using testing::HasSubstr;

std::vector<uint32_t> AllOf(const ExampleSet& set) {
  std::vector<uint32_t> all(set.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// A small task with unequal everything, its pool, and what the tests ask of a trainer.
struct World {
  explicit World(BuiltinData data = {.classes = 3,
                                     .features = 5,
                                     .training_examples = 70,
                                     .test_examples = 31,
                                     .separation = 2},
                 uint64_t seed = 1990)
      : task(data, seed), pool(task.schema()), initial(task.InitialModel(pool)) {}

  BuiltinTrainer Trainer(const TrainingSettings& settings, uint32_t learner = 0) {
    return BuiltinTrainer(task, pool, AllOf(task.training()), settings, 1990, LearnerId(learner));
  }
  double TrainingLoss(const Model& model) {
    BuiltinEvaluator evaluator(task, task.training(), AllOf(task.training()), 100);
    return evaluator.Evaluate(model)->loss;
  }

  GaussianTask task;
  ModelPool pool;
  ModelPtr initial;
};

std::vector<float> Parameters(const ModelPtr& model) {
  return {model->parameters().begin(), model->parameters().end()};
}

ModelPtr TrainFrom(BuiltinTrainer& trainer, const ModelPtr& model, uint64_t cycle,
                   uint64_t epochs) {
  EXPECT_TRUE(trainer.Load(model));
  for (uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    EXPECT_TRUE(trainer.TrainEpoch({cycle, epoch}, {}));
  }
  return *trainer.Snapshot();
}

double Distance(const ModelPtr& a, const ModelPtr& b) {
  double square = 0;
  for (size_t i = 0; i < a->size(); ++i) {
    double difference = a->parameters()[i] - b->parameters()[i];
    square += difference * difference;
  }
  return std::sqrt(square);
}

TEST(GaussianTask, IsAFunctionOfItsSeed) {
  BuiltinData data = {.classes = 3, .features = 4, .training_examples = 50, .test_examples = 20};
  GaussianTask one(data, 1), same(data, 1), other(data, 2);
  EXPECT_EQ(one.training().values, same.training().values);
  EXPECT_NE(one.training().values, other.training().values);
  ModelPool pool(one.schema());
  EXPECT_EQ(Parameters(one.InitialModel(pool)), Parameters(same.InitialModel(pool)));
  EXPECT_NE(Parameters(one.InitialModel(pool)), Parameters(other.InitialModel(pool)));
}

TEST(GaussianTask, MoreExamplesAppendToTheSameOnes) {
  BuiltinData data = {.classes = 3, .features = 4, .training_examples = 50};
  GaussianTask small(data, 1);
  data.training_examples = 80;
  GaussianTask large(data, 1);
  std::vector<double> first(large.training().values.begin(),
                            large.training().values.begin() + 50 * 4);
  EXPECT_EQ(small.training().values, first);
}

TEST(GaussianTask, LabelsAreBalancedAndExamplesLieAroundTheirMeans) {
  BuiltinData data = {.classes = 4, .features = 6, .training_examples = 4002, .separation = 2.5};
  GaussianTask task(data, 7);
  std::vector<double> counts(4), squares(4);
  for (uint32_t i = 0; i < task.training().size(); ++i) {
    uint32_t label = task.training().labels[i];
    counts[label] += 1;
    for (size_t f = 0; f < 6; ++f) {
      double noise = task.training().example(i)[f] - task.mean(label)[f];
      squares[label] += noise * noise;
    }
  }
  EXPECT_EQ(counts, (std::vector<double>{1001, 1001, 1000, 1000}));
  for (uint32_t c = 0; c < 4; ++c) {
    double length = 0;
    for (double part : task.mean(c)) length += part * part;
    EXPECT_NEAR(std::sqrt(length), 2.5, 1e-12);
    EXPECT_NEAR(squares[c] / (6 * counts[c]), 1, 0.1);
  }
  EXPECT_EQ(task.schema()->tensors()[0], (TensorSpec{"weight", {4, 6}}));
  EXPECT_EQ(task.schema()->tensors()[1], (TensorSpec{"bias", {4}}));
}

TEST(BuiltinTrainer, LearnsTheDefaultTaskInAFewEpochs) {
  for (uint64_t seed : {1u, 2u, 1990u}) {
    World world(BuiltinData{}, seed);
    // One of ten IID learners: a tenth of the data.
    Result<data::Partition> partition =
        data::MakePartition(world.task.training().labels, 10, 10, data::PartitionSettings{}, seed);
    BuiltinTrainer trainer(world.task, world.pool, partition->shares[0].examples, {}, seed,
                           LearnerId(0));
    BuiltinEvaluator evaluator(world.task, world.task.test(), AllOf(world.task.test()), 100);
    double before = evaluator.Evaluate(*world.initial)->counts.Headline();
    double after = evaluator.Evaluate(*TrainFrom(trainer, world.initial, 1, 4))->counts.Headline();
    EXPECT_LT(before, 0.35);
    EXPECT_GT(after, 0.8);
    BuiltinTrainer whole = world.Trainer({});
    EXPECT_GT(evaluator.Evaluate(*TrainFrom(whole, world.initial, 1, 4))->counts.Headline(), 0.84);
  }
}

TEST(BuiltinTrainer, SameKeysSameBits) {
  World world;
  TrainingSettings settings = {.batch_size = 16};
  BuiltinTrainer one = world.Trainer(settings), same = world.Trainer(settings);
  BuiltinTrainer another_learner = world.Trainer(settings, 1);
  std::vector<float> trained = Parameters(TrainFrom(one, world.initial, 1, 3));
  EXPECT_EQ(Parameters(TrainFrom(same, world.initial, 1, 3)), trained);
  EXPECT_NE(Parameters(TrainFrom(same, world.initial, 2, 3)), trained);
  EXPECT_NE(Parameters(TrainFrom(another_learner, world.initial, 1, 3)), trained);
}

TEST(BuiltinTrainer, ARecomputedEpochGivesTheSameBits) {
  World world;
  BuiltinTrainer trainer = world.Trainer({.batch_size = 16});
  std::vector<float> first = Parameters(TrainFrom(trainer, world.initial, 5, 2));
  TrainFrom(trainer, world.pool.Zero(), 6, 7);  // a detour must leave nothing behind
  EXPECT_EQ(Parameters(TrainFrom(trainer, world.initial, 5, 2)), first);
}

// Every platform and compiler must give these very bits.
TEST(BuiltinTrainer, GoldenBits) {
  World world;
  BuiltinTrainer trainer = world.Trainer({.proximal = 0.01, .batch_size = 16});
  EXPECT_EQ(TrainFrom(trainer, world.initial, 1, 5)->Fingerprint(), 3675249497225620989u);
}

TEST(BuiltinTrainer, TheLastMiniBatchHoldsTheRest) {
  World world;
  BuiltinTrainer trainer = world.Trainer({.batch_size = 16});
  ASSERT_TRUE(trainer.Load(world.initial));
  Result<learner::EpochReport> report = trainer.TrainEpoch({1, 1}, {});
  EXPECT_EQ(report->steps, 5u);  // 70 = 4 * 16 + 6
  EXPECT_EQ(report->examples, 70u);
  EXPECT_EQ(trainer.steps_per_epoch(), 5u);
  EXPECT_EQ(trainer.training_examples(), 70u);
}

TEST(BuiltinTrainer, MomentumStepsAreThoseComputedByHand) {
  // One example x of class 0, two classes, one feature, from zero weights; eta 0.1, g 0.75.
  World world(BuiltinData{.classes = 2, .features = 1, .training_examples = 1, .separation = 2});
  double x = world.task.training().example(0)[0];
  BuiltinTrainer trainer = world.Trainer({.learning_rate = 0.1, .momentum = 0.75});
  ASSERT_TRUE(trainer.Load(world.pool.Zero()));
  // Step 1: p = (1/2, 1/2), errors (-1/2, 1/2), u = -eta * error * (x, 1).
  ASSERT_TRUE(trainer.TrainEpoch({1, 1}, {}));
  double weight = 0.05 * x, bias = 0.05;
  EXPECT_THAT(Parameters(*trainer.Snapshot()),
              testing::Pointwise(testing::FloatNear(1e-7f),
                                 {float(weight), float(-weight), float(bias), float(-bias)}));
  // Step 2: the scores differ by d = 2 (weight x + bias), so p_1 = 1 / (1 + e^d), error (-p_1,
  // p_1); u = 0.75 u + eta p_1 (x, 1), and w gains it.
  double p1 = 1 / (1 + std::exp(2 * (weight * x + bias)));
  weight += 0.75 * 0.05 * x + 0.1 * p1 * x;
  bias += 0.75 * 0.05 + 0.1 * p1;
  Result<learner::EpochReport> report = trainer.TrainEpoch({1, 2}, {});
  EXPECT_NEAR(report->training_loss, -std::log(1 - p1), 1e-12);
  EXPECT_THAT(Parameters(*trainer.Snapshot()),
              testing::Pointwise(testing::FloatNear(1e-7f),
                                 {float(weight), float(-weight), float(bias), float(-bias)}));
}

TEST(BuiltinTrainer, MomentumRestartsWithEachReceivedModelUnlessKept) {
  World world;
  TrainingSettings settings = {.batch_size = 70};  // one step an epoch
  BuiltinTrainer fresh = world.Trainer(settings);
  std::vector<float> from_rest = Parameters(TrainFrom(fresh, world.initial, 9, 1));
  BuiltinTrainer restarting = world.Trainer(settings);
  TrainFrom(restarting, world.initial, 1, 3);
  EXPECT_EQ(Parameters(TrainFrom(restarting, world.initial, 9, 1)), from_rest);
  settings.keep_momentum = true;
  BuiltinTrainer keeping = world.Trainer(settings);
  TrainFrom(keeping, world.initial, 1, 3);
  EXPECT_NE(Parameters(TrainFrom(keeping, world.initial, 9, 1)), from_rest);
}

TEST(BuiltinTrainer, ProximalTermPullsTowardsTheReceivedModel) {
  World world;
  double last = std::numeric_limits<double>::infinity();
  for (double mu : {0.0, 0.1, 1.0, 10.0}) {
    BuiltinTrainer trainer = world.Trainer({.momentum = 0, .proximal = mu, .batch_size = 16});
    double distance = Distance(TrainFrom(trainer, world.initial, 1, 20), world.initial);
    EXPECT_GT(distance, 0);
    EXPECT_LT(distance, last) << "mu " << mu;
    last = distance;
  }
}

TEST(BuiltinTrainer, GradientEqualsFiniteDifferencesOfTheLoss) {
  World world;
  // One step over the whole set with eta 1 and no momentum moves by minus the gradient.
  std::vector<float> start = Parameters(world.initial);
  for (size_t i = 0; i < start.size(); ++i) start[i] += 0.125f * static_cast<float>(i % 5);
  ModelPtr model = world.pool.Copy(start);
  BuiltinTrainer trainer =
      world.Trainer({.learning_rate = 1, .momentum = 0, .proximal = 3, .batch_size = 70});
  ModelPtr moved = TrainFrom(trainer, model, 1, 1);
  constexpr float kStep = 0x1p-7f;
  for (size_t i = 0; i < start.size(); ++i) {
    std::vector<float> up = start, down = start;
    up[i] += kStep;
    down[i] -= kStep;
    double width = double{up[i]} - double{down[i]};
    double slope =
        (world.TrainingLoss(*world.pool.Copy(up)) - world.TrainingLoss(*world.pool.Copy(down))) /
        width;
    EXPECT_NEAR(start[i] - moved->parameters()[i], slope, 1e-4) << "parameter " << i;
  }
}

TEST(BuiltinTrainer, StopsWhenAskedTo) {
  World world;
  BuiltinTrainer trainer = world.Trainer({});
  ASSERT_TRUE(trainer.Load(world.initial));
  std::stop_source source;
  source.request_stop();
  Result<learner::EpochReport> report = trainer.TrainEpoch({1, 1}, source.get_token());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("stopped after 0 of 1 mini-batches"));
}

TEST(BuiltinTrainer, RefusesWhatItCannotTrain) {
  World world;
  BuiltinTrainer trainer = world.Trainer({});
  EXPECT_FALSE(trainer.TrainEpoch({1, 1}, {}));
  EXPECT_FALSE(trainer.Snapshot());
  ModelPool other(*ModelSchema::Create({{"weight", {3, 4}}, {"bias", {3}}}));
  EXPECT_THAT(trainer.Load(other.Zero()).error().message, HasSubstr("other classes or features"));
  BuiltinEvaluator evaluator(world.task, world.task.test(), {0, 1}, 10);
  EXPECT_FALSE(evaluator.Evaluate(*other.Zero()));
}

TEST(BuiltinTrainer, SurvivesModelsThatAreNotFiniteOrExtreme) {
  World world;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  BuiltinEvaluator evaluator(world.task, world.task.test(), AllOf(world.task.test()), 10);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity,
                    std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(),
                    std::numeric_limits<float>::denorm_min()}) {
    for (size_t place = 0; place < world.initial->size(); ++place) {
      std::vector<float> parameters = Parameters(world.initial);
      parameters[place] = bad;
      ModelPtr model = world.pool.Copy(parameters);
      BuiltinTrainer trainer = world.Trainer({.proximal = 0.1, .batch_size = 16});
      ModelPtr trained = TrainFrom(trainer, model, 1, 2);
      EXPECT_EQ(trained->Magnitude() < kInfinity, std::isfinite(bad));
      Result<learner::Evaluation> evaluation = evaluator.Evaluate(*model);
      ASSERT_TRUE(evaluation);
      EXPECT_EQ(evaluation->counts.AsConfusion().RowSums(), evaluator.declared().class_counts());
    }
  }
}

TEST(BuiltinTrainer, WithoutExamplesAnEpochIsEmpty) {
  World world;
  BuiltinTrainer trainer(world.task, world.pool, {}, {}, 1, LearnerId(0));
  EXPECT_EQ(Parameters(TrainFrom(trainer, world.initial, 1, 1)), Parameters(world.initial));
  EXPECT_EQ(trainer.steps_per_epoch(), 0u);
}

TEST(BuiltinTrainer, SnapshotsReuseTheBuffersOfThePool) {
  World world;
  BuiltinTrainer trainer = world.Trainer({});
  TrainFrom(trainer, world.initial, 1, 1);
  size_t allocated = world.pool.allocated();
  for (uint64_t cycle = 2; cycle < 20; ++cycle) TrainFrom(trainer, world.initial, cycle, 1);
  EXPECT_EQ(world.pool.allocated(), allocated);
}

TEST(BuiltinEvaluator, RowSumsAreTheDeclaredClassCounts) {
  World world;
  std::vector<uint32_t> some = {0, 1, 2, 4, 7, 10, 12, 13, 28, 30};
  BuiltinEvaluator evaluator(world.task, world.task.test(), some, 4);
  EXPECT_EQ(evaluator.declared().class_counts(), (std::vector<uint64_t>{3, 6, 1}));
  EXPECT_EQ(evaluator.batches(), 3u);
  BuiltinTrainer trainer = world.Trainer({});
  for (const ModelPtr& model : {world.initial, TrainFrom(trainer, world.initial, 1, 3)}) {
    EXPECT_EQ(evaluator.Evaluate(*model)->counts.AsConfusion().RowSums(),
              evaluator.declared().class_counts());
  }
}

TEST(BuiltinEvaluator, ZeroWeightsCostTheLogarithmOfTheClasses) {
  World world;
  BuiltinEvaluator evaluator(world.task, world.task.test(), AllOf(world.task.test()), 10);
  EXPECT_NEAR(evaluator.Evaluate(*world.pool.Zero())->loss, std::log(3.0), 1e-14);
  BuiltinEvaluator empty(world.task, world.task.test(), {}, 10);
  EXPECT_EQ(empty.Evaluate(*world.initial)->loss, 0);
  EXPECT_EQ(empty.Evaluate(*world.initial)->counts.examples(), 0u);
  EXPECT_EQ(empty.batches(), 0u);
}

}  // namespace
}  // namespace metis::builtin
