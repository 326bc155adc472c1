#include "metis/data/writer_partition.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::data {
namespace {

constexpr int kMostSweeps = 100;  // bounds the time; a handful is usual

class WriterDeal {
 public:
  WriterDeal(const std::vector<uint64_t>& writers, const std::vector<uint64_t>& wanted)
      : writers_(writers), hands_(wanted.size()) {
    for (uint64_t size : wanted) surplus_.push_back(-static_cast<int64_t>(size));
  }

  // Each writer, in this order, to the learner that lacks most; the last ones to those that would
  // otherwise get none.
  void GiveAll(const std::vector<uint32_t>& order) {
    size_t empty = hands_.size();
    for (size_t i = 0; i < order.size(); ++i) {
      const bool empty_only = order.size() - i <= empty;
      size_t best = hands_.size();
      for (size_t k = 0; k < hands_.size(); ++k) {
        if (empty_only && !hands_[k].empty()) continue;
        if (best == hands_.size() || surplus_[k] < surplus_[best]) best = k;
      }
      if (hands_[best].empty()) --empty;
      hands_[best].push_back(order[i]);
      surplus_[best] += SizeOf(order[i]);
    }
  }

  // Brings pairs of learners nearer to their wanted sizes until no pair can.
  void Balance() {
    bool changed = true;
    for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
      changed = false;
      for (size_t a = 0; a < hands_.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          changed |= surplus_[a] > surplus_[b] ? Exchange(a, b) : Exchange(b, a);
        }
      }
    }
  }

  // Learners with their writers, most examples first.
  std::vector<std::vector<uint32_t>> Sorted(const std::vector<uint64_t>& wanted) && {
    std::vector<size_t> order(hands_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    auto size = [&](size_t k) { return surplus_[k] + static_cast<int64_t>(wanted[k]); };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return size(a) > size(b); });
    std::vector<std::vector<uint32_t>> sorted;
    for (size_t k : order) sorted.push_back(std::move(hands_[k]));
    return sorted;
  }

 private:
  // Moves a writer from `rich` to `poor`, or swaps two, such that the sum of their squared
  // surpluses becomes as small as that can make it. False: nothing helps.
  bool Exchange(size_t rich, size_t poor) {
    const int64_t gap = surplus_[rich] - surplus_[poor];
    std::vector<uint32_t>& from = hands_[rich];
    std::vector<uint32_t>& to = hands_[poor];
    // Two single writers need no swap: whoever has more will be given the larger wanted size.
    if (from.size() == 1 && to.size() == 1) return false;
    // Moving d examples changes the sum by 2 d (d - gap): best where d is half of the gap.
    int64_t best = gap, moved = 0;  // best: |gap - 2 d|
    size_t given = 0, taken = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      for (size_t j = 0; j <= to.size(); ++j) {  // the last stands for nothing in return
        if (j == to.size() && from.size() == 1) continue;
        const int64_t d = SizeOf(from[i]) - (j < to.size() ? SizeOf(to[j]) : 0);
        if (std::abs(gap - 2 * d) >= best) continue;
        best = std::abs(gap - 2 * d);
        moved = d;
        given = i;
        taken = j;
      }
    }
    if (best == gap) return false;
    surplus_[rich] -= moved;
    surplus_[poor] += moved;
    if (taken < to.size()) {
      std::swap(from[given], to[taken]);
    } else {
      to.push_back(from[given]);
      from.erase(from.begin() + static_cast<ptrdiff_t>(given));
    }
    return true;
  }

  int64_t SizeOf(uint32_t writer) const { return static_cast<int64_t>(writers_[writer]); }

  const std::vector<uint64_t>& writers_;
  std::vector<std::vector<uint32_t>> hands_;  // the writers of each learner
  std::vector<int64_t> surplus_;              // of each learner: what it has beyond the wanted
};

}  // namespace

Result<Partition> PartitionByWriters(std::span<const uint32_t> labels, uint32_t classes,
                                     std::span<const uint32_t> writers,
                                     const std::vector<uint64_t>& wanted, Random random) {
  METIS_CHECK(writers.size() == labels.size());
  std::map<uint32_t, std::vector<uint32_t>> by_writer;
  for (size_t i = 0; i < writers.size(); ++i) {
    by_writer[writers[i]].push_back(static_cast<uint32_t>(i));
  }
  if (by_writer.size() < wanted.size()) {
    return Invalid(Text(by_writer.size(), " writers cannot be dealt to ", wanted.size(),
                        " learners, at least one each: use at most ", by_writer.size(),
                        " learners"));
  }
  std::vector<const std::vector<uint32_t>*> examples;
  std::vector<uint64_t> sizes;
  for (const auto& [writer, of_writer] : by_writer) {
    examples.push_back(&of_writer);
    sizes.push_back(of_writer.size());
  }
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0u);
  random.Shuffle(std::span(order));
  WriterDeal deal(sizes, wanted);
  deal.GiveAll(order);
  deal.Balance();

  Partition partition;
  for (const std::vector<uint32_t>& hand : std::move(deal).Sorted(wanted)) {
    Share share{.examples = {},
                .class_counts = std::vector<uint64_t>(classes),
                .wanted = wanted[partition.shares.size()]};
    for (uint32_t w : hand) {
      share.examples.insert(share.examples.end(), examples[w]->begin(), examples[w]->end());
    }
    std::sort(share.examples.begin(), share.examples.end());
    for (uint32_t example : share.examples) ++share.class_counts[labels[example]];
    partition.shortfall += share.wanted - std::min<uint64_t>(share.wanted, share.examples.size());
    partition.shares.push_back(std::move(share));
  }
  return partition;
}

}  // namespace metis::data
