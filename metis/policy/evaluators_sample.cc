// A few of the other live learners with validation data evaluate an update, drawn anew for every
// update: evaluation costs k models an update, whatever the number of learners.
//
// Every evaluator draws a rank for the update, and the first k are asked. Its rank does not depend
// on who else is there, so that one that comes or goes changes one place of the sample.
#include <algorithm>
#include <utility>

#include "metis/core/random.h"
#include "metis/core/text.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::PartKey;
using federation::Settings;
using federation::UpdateId;

constexpr PartKey kSampleSize = {
    .section = "validation",
    .name = "sample_size",
    .fallback = int64_t{3},
    .allowed = federation::WholeRange{1, 1'000'000},
    .documentation =
        "How many evaluate an update if evaluators = \"sample\"; all of them where "
        "there are fewer."};

class Selector final : public federation::EvaluatorSelector {
 public:
  explicit Selector(const Settings& settings)
      : size_(settings.values.Get<size_t>(kSampleSize)), seed_(settings.seed) {}

  std::vector<LearnerId> Choose(const std::vector<LearnerId>& able,
                                const UpdateId& update) const override {
    // One stream cannot hold the whole key: the update's gives the seed of the evaluators'.
    Random of_update({.seed = seed_,
                      .learner = update.learner.value(),
                      .cycle = update.sequence.value(),
                      .epoch = update.incarnation.value(),
                      .purpose = Purpose::kEvaluators});
    const uint64_t seed = of_update.Next();
    std::vector<std::pair<uint64_t, LearnerId>> ranked;
    for (LearnerId evaluator : able) {
      Random of_evaluator(
          {.seed = seed, .learner = evaluator.value(), .purpose = Purpose::kEvaluators});
      ranked.emplace_back(of_evaluator.Next(), evaluator);
    }
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min(size_, ranked.size()));
    std::vector<LearnerId> chosen;
    for (const auto& [rank, evaluator] : ranked) chosen.push_back(evaluator);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

 private:
  const size_t size_;
  const uint64_t seed_;
};

std::optional<std::string> Expect(const Settings& settings, const UpdateId& update,
                                  const std::vector<LearnerId>& able,
                                  const std::vector<LearnerId>& asked) {
  size_t wanted = settings.values.Get<size_t>(kSampleSize);
  if (able.size() < wanted) wanted = able.size();
  if (asked.size() == wanted) return std::nullopt;
  return Text(asked.size(), " learners were asked to evaluate the update of learner ",
              update.learner, ", not ", wanted, " of the ", able.size(), " that could");
}

federation::EvaluatorsPart Describe() {
  federation::EvaluatorsPart part;
  part.name = "sample";
  part.help = "sample_size of them, drawn anew for every update";
  part.keys = {kSampleSize};
  part.drawn = 0.3;
  part.draw = [](Random& random, Settings& settings) {
    settings.values.Set(kSampleSize, static_cast<int64_t>(1 + random.Below(4)));
  };
  part.make = [](const Settings& settings) { return std::make_unique<Selector>(settings); };
  part.expect = Expect;
  return part;
}

}  // namespace

const federation::EvaluatorsPart& SampleEvaluators() {
  static const auto* part = new federation::EvaluatorsPart(Describe());
  return *part;
}

}  // namespace metis::policy
