// A bench that finds in a journal what an earlier start of the same run has done, has the rest done
// by another bench, and keeps it. Any thread may use it.
#pragma once

#include <stop_token>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/work/bench.h"
#include "metis/work/journal.h"

namespace metis::work {

class JournalBench final : public Bench {
 public:
  // All outlive it. The pool makes the models that are found. With `keep_states` the state after an
  // update's last epoch is kept, too: for training of which something outlives a received model.
  JournalBench(Bench& next, WorkJournal& journal, ModelPool& pool, bool keep_states)
      : next_(next), journal_(journal), pool_(pool), keep_states_(keep_states) {}

  Result<WorkResult> Do(const Work& work, const std::stop_token& stop) override;

 private:
  Result<WorkResult> Train(const Work& work, const std::stop_token& stop);
  Result<WorkResult> TakeModel(const Work& work, const std::stop_token& stop);
  Result<WorkResult> FindOrTakeModel(const Work& work, const std::stop_token& stop);
  Result<WorkResult> Evaluate(const Work& work, const std::stop_token& stop);

  Bench& next_;
  WorkJournal& journal_;
  ModelPool& pool_;
  const bool keep_states_;
};

}  // namespace metis::work
