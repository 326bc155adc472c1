// Which of several scored things is the best: the first of those with the highest score; whoever
// only reaches it again is no better. Decides what best.metis holds, and which version is the best
// in a stop criterion, a summary, a status and a report. A value; whoever has it keeps the thing.
//
//   BestScore best;
//   if (best.Offer(accuracy)) best_model = model;
#pragma once

#include <optional>

namespace metis {

class BestScore {
 public:
  BestScore() = default;
  // One that was found before.
  explicit BestScore(double score) : score_(score) {}

  // Whether it is a new best; the first is, whatever it is. Not NaN.
  bool Offer(double score) {
    if (score_ && score <= *score_) return false;
    score_ = score;
    return true;
  }
  const std::optional<double>& score() const { return score_; }  // empty before the first

 private:
  std::optional<double> score_;
};

}  // namespace metis
