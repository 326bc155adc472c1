#include "metis/store/kept_models.h"

#include "metis/core/text.h"

namespace metis::store {

void KeptModels::Event(Instant now, const federation::Event& event) {
  next_.Event(now, event);
  const auto* tested = std::get_if<federation::CommunityTested>(&event);
  if (tested == nullptr) return;
  auto found = under_test_.find(tested->version);
  if (found == under_test_.end()) return;
  latest_ = {tested->version, found->second, tested->counts.Headline()};
  if (best_accuracy_.Offer(latest_.accuracy)) best_ = latest_;
  under_test_.erase(found);
}

void KeptModels::Action(Instant now, const federation::Action& action) {
  next_.Action(now, action);
  if (const auto* request = std::get_if<federation::RequestTest>(&action)) {
    under_test_[request->version] = request->model;
  }
}

ModelFacts WithTest(const ModelFacts& facts, const TestedModel& what) {
  ModelFacts all = facts;
  all["version"] = Text(what.version);
  if (what.accuracy >= 0) all["accuracy"] = Text(what.accuracy);
  return all;
}

Result<void> WriteTestedModel(const std::string& path, const ModelFacts& facts,
                              const TestedModel& what) {
  return WriteModelFile(path, WithTest(facts, what), *what.model);
}

Result<void> KeptModels::Write(const std::string& directory, const ModelFacts& facts,
                               const ModelPtr& final_model, metis::Version final_version) const {
  TestedModel last{final_version, final_model, -1};
  if (latest_.version == final_version) last.accuracy = latest_.accuracy;
  Result<void> written = WriteTestedModel(Text(directory, "/", kFinalModelFile), facts, last);
  if (!written || !best_.model) return written;
  return WriteTestedModel(Text(directory, "/", kBestModelFile), facts, best_);
}

}  // namespace metis::store
