#include "metis/data/dealt_data.h"

#include <set>
#include <utility>

namespace metis::data {
namespace {

uint64_t WritersOf(const Dataset& set, const Share& share) {
  std::set<uint32_t> writers;
  if (!set.has_writers()) return 0;
  for (uint32_t example : share.examples) writers.insert(set.writers()[example]);
  return writers.size();
}

}  // namespace

std::vector<uint64_t> DealtData::left_over() const {
  std::vector<uint64_t> left = set.class_counts();
  for (const Share& share : partition.shares) {
    for (size_t c = 0; c < left.size(); ++c) left[c] -= share.class_counts[c];
  }
  return left;
}

Result<DealtData> DealData(const Dataset& set, const DealSettings& settings) {
  Result<Partition> partition = MakePartition(set.labels(), set.classes(), settings.learners,
                                              settings.partition, settings.seed, set.writers());
  if (!partition) return partition.error();
  Result<void> fits = CheckFaultyLabels(settings.faulty, settings.learners, set.classes());
  if (!fits) return fits.error();
  DealtData dealt{set, settings, *std::move(partition), {}};
  dealt.learners.resize(settings.learners);
  std::vector<uint32_t> labels(set.labels().begin(), set.labels().end());
  for (const FaultyLabels& faulty : settings.faulty) {
    DealtLearner& learner = dealt.learners[faulty.learner];
    const std::string text = FormatFaultyLabels(faulty);
    learner.faulty = text.substr(text.find(':') + 1);
    learner.labels_changed = SpoilLabels(faulty, dealt.partition.shares[faulty.learner].examples,
                                         set.classes(), settings.seed, labels);
  }
  for (size_t k = 0; k < dealt.learners.size(); ++k) {
    const Share& share = dealt.partition.shares[k];
    DealtLearner& learner = dealt.learners[k];
    learner.training = share.examples.size();
    learner.writers = WritersOf(set, share);
    if (!settings.validation) continue;
    // A site splits by the labels that it sees.
    learner.validation = StratifiedSplit(share.examples, labels, set.classes(),
                                         *settings.validation, settings.seed, k)
                             .validation.size();
    learner.training -= learner.validation;
  }
  return dealt;
}

}  // namespace metis::data
