// What a site brings into a federation: its data, and what trains and evaluates on them. Nothing
// of the data leaves it but what `metis learner --explain-privacy` says. Opening one reads its
// data, which stay in memory as long as it is there. A value, moved to whoever works with it;
// nothing of libtorch shows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/data/load_data.h"
#include "metis/drivers/processes.h"
#include "metis/learner/evaluator.h"

namespace metis::site {

// The K-th of N parts, from 0.
struct ShareOfData {
  uint32_t index = 0;
  uint32_t of = 1;
};
// Reads "3/10".
Result<ShareOfData> ParseShare(std::string_view text);

struct SiteOptions {
  data::DataSource data;             // or "builtin"
  std::optional<ShareOfData> share;  // dealt as the federation's [data] says; none: all of it
  std::string faulty;                // "labels=random": wrong labels, for experiments; empty: none
};

// A site at work. Tools borrow from `owner`: they are let go first.
struct LearnerSite {
  std::shared_ptr<const void> owner;
  SchemaPtr schema;
  ModelPool* pool = nullptr;  // owned by `owner`
  drivers::LearnerTools tools;
  Declared validation_counts;  // none where the policy needs no validation set
  std::string description;     // "fashion-mnist: 4750 training examples, ..."
};

// Of a learner with this id. Fails where data, share and the federation's model do not go together.
Result<LearnerSite> OpenLearnerSite(const SiteOptions& options, const config::Config& config,
                                    LearnerId id);

struct ObserverSite {
  std::shared_ptr<const void> owner;
  SchemaPtr schema;
  ModelPool* pool = nullptr;
  std::vector<std::unique_ptr<learner::Evaluator>> testers;
  Declared test_set;
  std::string description;
};

// Tests on the test part of a data set; of a file on the part that the federation holds out, or
// with `whole` on all of it.
Result<ObserverSite> OpenObserverSite(const data::DataSource& data, bool whole,
                                      const config::Config& config);

}  // namespace metis::site
