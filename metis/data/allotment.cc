#include "metis/data/allotment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "metis/core/check.h"

namespace metis::data {

Allotment::Allotment(std::vector<uint64_t> sizes, std::vector<uint64_t> pools)
    : needs_(std::move(sizes)), left_(std::move(pools)), cells_(needs_.size() * left_.size()) {}

uint64_t Allotment::shortfall() const {
  return std::accumulate(needs_.begin(), needs_.end(), uint64_t{0});
}

uint64_t Allotment::left_over() const {
  return std::accumulate(left_.begin(), left_.end(), uint64_t{0});
}

void Allotment::Solve() {
  GiveLeast();
  while (ShareByWeight()) {
  }
  for (size_t k = 0; k < learners(); ++k) GiveSingles(k);
  // A learner that finds no path now never will: later paths cannot pass through what it reached.
  for (size_t k = 0; k < learners(); ++k) {
    while (needs_[k] > 0 && Reroute(k)) {
    }
  }
}

void Allotment::Give(size_t learner, size_t cls, uint64_t count) {
  at(learner, cls).count += count;
  needs_[learner] -= count;
  left_[cls] -= count;
}

// Whether the learner may still take an example of the class from its pool, by its own proportions.
bool Allotment::Open(size_t learner, size_t cls) const {
  const Cell& cell = at(learner, cls);
  return cell.weight > 0 && cell.count < cell.most && left_[cls] > 0;
}

void Allotment::GiveLeast() {
  for (size_t k = 0; k < learners(); ++k) {
    for (size_t c = 0; c < classes(); ++c) {
      uint64_t least = at(k, c).least;
      METIS_CHECK(least <= at(k, c).most && least <= needs_[k] && least <= left_[c]);
      Give(k, c, least);
    }
  }
}

// One round: every learner asks for what it still needs of its open classes, in proportion to its
// weights; a class that is asked for more than it has left gives everyone the same fraction. False:
// nothing moved.
bool Allotment::ShareByWeight() {
  std::vector<double> per_weight(learners());
  std::vector<double> demand(classes());
  for (size_t k = 0; k < learners(); ++k) {
    double open_weight = 0;
    for (size_t c = 0; c < classes(); ++c) open_weight += Open(k, c) ? at(k, c).weight : 0;
    if (open_weight > 0) per_weight[k] = static_cast<double>(needs_[k]) / open_weight;
    for (size_t c = 0; c < classes(); ++c) {
      if (Open(k, c)) demand[c] += per_weight[k] * at(k, c).weight;
    }
  }
  std::vector<double> fraction(classes());
  for (size_t c = 0; c < classes(); ++c) {
    if (demand[c] > 0) fraction[c] = std::min(1.0, static_cast<double>(left_[c]) / demand[c]);
  }
  bool moved = false;
  for (size_t k = 0; k < learners(); ++k) {
    for (size_t c = 0; c < classes(); ++c) {
      if (!Open(k, c)) continue;
      const Cell& cell = at(k, c);
      auto asked = static_cast<uint64_t>(std::floor(per_weight[k] * cell.weight * fraction[c]));
      uint64_t given = std::min({asked, needs_[k], left_[c], cell.most - cell.count});
      Give(k, c, given);
      moved |= given > 0;
    }
  }
  return moved;
}

// What rounding left: one by one from the fullest pool of the learner's classes.
void Allotment::GiveSingles(size_t learner) {
  while (needs_[learner] > 0) {
    size_t best = classes();
    for (size_t c = 0; c < classes(); ++c) {
      if (Open(learner, c) && (best == classes() || left_[c] > left_[best])) best = c;
    }
    if (best == classes()) return;
    Give(learner, best, 1);
  }
}

// Breadth first from the learner to a class with examples left, through learners who can give up
// one class for another; moves as many examples as the path allows. False: there is no path.
bool Allotment::Reroute(size_t learner) {
  constexpr size_t kUnseen = SIZE_MAX;
  std::vector<size_t> taker(classes(), kUnseen);      // the learner who would take of this class
  std::vector<size_t> given_up(learners(), kUnseen);  // the class that this learner would give up
  std::vector<size_t> queue = {learner};
  given_up[learner] = classes();
  size_t goal = classes();
  for (size_t next = 0; next < queue.size() && goal == classes(); ++next) {
    size_t k = queue[next];
    for (size_t c = 0; c < classes() && goal == classes(); ++c) {
      if (taker[c] != kUnseen || at(k, c).count >= at(k, c).most) continue;
      taker[c] = k;
      if (left_[c] > 0) goal = c;
      for (size_t other = 0; other < learners(); ++other) {
        if (given_up[other] != kUnseen || at(other, c).count <= at(other, c).least) continue;
        given_up[other] = c;
        queue.push_back(other);
      }
    }
  }
  if (goal == classes()) return false;

  uint64_t amount = std::min(needs_[learner], left_[goal]);
  for (size_t c = goal; c != classes(); c = given_up[taker[c]]) {
    const Cell& taken = at(taker[c], c);
    amount = std::min(amount, taken.most - taken.count);
    if (taker[c] == learner) break;
    const Cell& lost = at(taker[c], given_up[taker[c]]);
    amount = std::min(amount, lost.count - lost.least);
  }
  needs_[learner] -= amount;
  left_[goal] -= amount;
  for (size_t c = goal; c != classes(); c = given_up[taker[c]]) {
    at(taker[c], c).count += amount;
    if (taker[c] != learner) at(taker[c], given_up[taker[c]]).count -= amount;
  }
  return true;
}

}  // namespace metis::data
