// The trainers and evaluators of one site, lent to one piece of work at a time. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "metis/work/bench.h"

namespace metis::work {

// Equal things; who wants one waits until one is back.
template <typename T>
class Shelf {
 public:
  explicit Shelf(std::vector<std::unique_ptr<T>> things) : things_(std::move(things)) {
    for (const std::unique_ptr<T>& thing : things_) free_.push_back(thing.get());
  }

  Tools::Lent<T> Take() {
    std::unique_lock lock(mutex_);
    back_.wait(lock, [this] { return !free_.empty(); });
    T* const thing = free_.back();
    free_.pop_back();
    return {thing, [this](T* returned) {
              {
                std::scoped_lock returning(mutex_);
                free_.push_back(returned);
              }
              back_.notify_one();
            }};
  }

 private:
  const std::vector<std::unique_ptr<T>> things_;
  std::mutex mutex_;
  std::condition_variable back_;
  std::vector<T*> free_;  // guarded by mutex_
};

class SiteTools final : public Tools {
 public:
  // Any of them may be none, as long as no work asks for it. `testers` are parts of a test set.
  SiteTools(std::vector<std::unique_ptr<learner::Trainer>> trainers,
            std::vector<std::unique_ptr<learner::Evaluator>> evaluators,
            std::vector<std::unique_ptr<learner::Evaluator>> testers)
      : trainers_(std::move(trainers)), evaluators_(std::move(evaluators)) {
    for (std::unique_ptr<learner::Evaluator>& tester : testers) {
      std::vector<std::unique_ptr<learner::Evaluator>> one;
      one.push_back(std::move(tester));
      testers_.push_back(std::make_unique<Shelf<learner::Evaluator>>(std::move(one)));
    }
  }

  Lent<learner::Trainer> Trainer(uint32_t) override { return trainers_.Take(); }
  Lent<learner::Evaluator> Evaluator(uint32_t) override { return evaluators_.Take(); }
  Lent<learner::Evaluator> Tester(uint32_t part) override { return testers_[part]->Take(); }

 private:
  Shelf<learner::Trainer> trainers_;
  Shelf<learner::Evaluator> evaluators_;
  std::vector<std::unique_ptr<Shelf<learner::Evaluator>>> testers_;
};

}  // namespace metis::work
