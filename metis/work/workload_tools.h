// The trainers and evaluators of all sites of a workload, made for each piece of work, as another
// process would have to: a site that does nothing holds no model. Testers are made once and lent.
// The workload outlives it. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "metis/learner/workload.h"
#include "metis/work/bench.h"
#include "metis/work/site_tools.h"

namespace metis::work {

class WorkloadTools : public Tools {
 public:
  explicit WorkloadTools(const learner::Workload& workload)
      : workload_(workload), testers_({}, {}, workload.MakeTesters()) {}

  Lent<learner::Trainer> Trainer(uint32_t who) override {
    return {workload_.MakeTrainer(LearnerId(who)).release(),
            std::default_delete<learner::Trainer>()};
  }
  Lent<learner::Evaluator> Evaluator(uint32_t who) override {
    return {workload_.MakeEvaluator(LearnerId(who)).release(),
            std::default_delete<learner::Evaluator>()};
  }
  Lent<learner::Evaluator> Tester(uint32_t part) override { return testers_.Tester(part); }

 private:
  const learner::Workload& workload_;
  SiteTools testers_;
};

}  // namespace metis::work
