// How many examples of each class each learner gets: sizes by row, pools by column, and bounds for
// every cell. Shares first by weight, so that scarce classes are shared out fairly; then reroutes
// (augmenting paths), so that the shortfall is the least that the bounds allow. Deterministic,
// without random draws. O(learners * classes) memory. A value, used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace metis::data {

class Allotment {
 public:
  struct Cell {
    double weight = 0;   // the learner wants its classes in this proportion, >= 0
    uint64_t least = 0;  // Solve() keeps least <= count <= most
    uint64_t most = 0;
    uint64_t count = 0;
  };

  // `sizes[k]` examples are wanted by learner k; `pools[c]` examples of class c exist.
  Allotment(std::vector<uint64_t> sizes, std::vector<uint64_t> pools);

  size_t learners() const { return needs_.size(); }
  size_t classes() const { return left_.size(); }
  Cell& at(size_t learner, size_t cls) { return cells_[learner * classes() + cls]; }
  const Cell& at(size_t learner, size_t cls) const { return cells_[learner * classes() + cls]; }

  // Once, after weights and bounds are set. Checked: the pools and sizes can give every `least`.
  void Solve();

  uint64_t shortfall() const;  // wanted and not given, over all learners
  uint64_t left_over() const;  // in the pools and not given, over all classes

 private:
  void Give(size_t learner, size_t cls, uint64_t count);
  bool Open(size_t learner, size_t cls) const;
  void GiveLeast();
  bool ShareByWeight();
  void GiveSingles(size_t learner);
  bool Reroute(size_t learner);

  std::vector<uint64_t> needs_;  // of each learner, still to be given
  std::vector<uint64_t> left_;   // of each class, still in its pool
  std::vector<Cell> cells_;
};

}  // namespace metis::data
