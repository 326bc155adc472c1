// Listens to a run and keeps the community models that matter to its user: the best tested, and at
// the end the final one. Hears what the run's own recorder hears. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "metis/core/best_score.h"
#include "metis/core/ids.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/drivers/recorder.h"
#include "metis/store/model_file.h"

namespace metis::store {

inline constexpr const char* kFinalModelFile = "final.metis";
inline constexpr const char* kBestModelFile = "best.metis";

struct TestedModel {
  metis::Version version;
  ModelPtr model;
  double accuracy = -1;  // negative: not tested
};

// With version and accuracy as facts beside `facts`.
ModelFacts WithTest(const ModelFacts& facts, const TestedModel& what);
Result<void> WriteTestedModel(const std::string& path, const ModelFacts& facts,
                              const TestedModel& what);

class KeptModels final : public drivers::Recorder {
 public:
  explicit KeptModels(drivers::Recorder& next) : next_(next) {}

  void Event(Instant now, const federation::Event& event) override;
  void Action(Instant now, const federation::Action& action) override;

  // final.metis and, if anything was tested, best.metis; with version and accuracy as facts beside
  // `facts`.
  Result<void> Write(const std::string& directory, const ModelFacts& facts,
                     const ModelPtr& final_model, metis::Version final_version) const;

 private:
  drivers::Recorder& next_;
  std::map<metis::Version, ModelPtr> under_test_;
  BestScore best_accuracy_;
  TestedModel best_;
  TestedModel latest_;
};

}  // namespace metis::store
