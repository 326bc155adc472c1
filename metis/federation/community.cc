#include "metis/federation/community.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <span>
#include <utility>

#include "metis/core/planted.h"
#include "metis/core/text.h"

namespace metis::federation {
namespace {

// p is an integer in units of scale * 2^-30: fine enough to tell apart the accuracies of two models
// on a billion examples, and 1000 learners' P still fits a double exactly.
constexpr int kContributionBits = 30;
constexpr double kShareToSum = 1 << (kSumFractionBits - kContributionBits);
constexpr std::align_val_t kAlignment{64};

// The planted bug: right but for its rounding, which stays and depends on the order of arrival.
// `total` is P after the exchange.
void FloatExchange(const Model& before, double total, WeightedModel incoming,
                   WeightedModel outgoing, std::span<float> community) {
  const double rest = total - incoming.scaled_contribution + outgoing.scaled_contribution;
  const auto part = [&](double contribution) { return static_cast<float>(contribution / total); };
  for (size_t i = 0; i < community.size(); ++i) {
    community[i] = part(rest) * before.parameters()[i] +
                   part(incoming.scaled_contribution) * incoming.parameters[i];
    if (outgoing.parameters == nullptr) continue;
    community[i] -= part(outgoing.scaled_contribution) * outgoing.parameters[i];
  }
}

// Exactly: contribution / scale * 2^30.
Result<int64_t> Quantise(double contribution, int scale_exponent) {
  const double scale = std::ldexp(1.0, scale_exponent);
  if (!(contribution >= 0 && contribution <= scale)) {
    return Invalid(Text("contribution ", contribution, " is outside 0 to ", scale));
  }
  return static_cast<int64_t>(
      std::nearbyint(std::ldexp(contribution, kContributionBits - scale_exponent)));
}

}  // namespace

void Community::FreeSums::operator()(int64_t* sums) const { ::operator delete[](sums, kAlignment); }

Result<void> Gate::Check(const Model& model) const {
  float magnitude = model.Magnitude();
  if (magnitude < max_parameter) return {};
  if (Planted(PlantedBug::kNanPasses) && std::isinf(magnitude)) return {};
  if (Planted(PlantedBug::kHugePasses) && !std::isinf(magnitude)) return {};
  if (std::isinf(magnitude)) return Invalid("the model holds a value that is NaN or infinite");
  return Invalid(Text("the model holds a value of magnitude ", magnitude, ", the gate is ",
                      max_parameter, ": has training diverged?"));
}

Community::Community(ModelPtr initial, Gate gate, ModelPool& pool, ModelStore& store,
                     const Kernels& kernels)
    : gate_(gate), pool_(pool), store_(store), kernels_(kernels), current_(std::move(initial)) {
  METIS_CHECK(gate.max_parameter > 0 && gate.max_parameter * gate.max_learners < 0x1p23);
  METIS_CHECK(current_ != nullptr && current_->schema()->hash() == pool.schema()->hash());
}

double Community::scale() const { return std::ldexp(1.0, scale_exponent_); }

int Community::ExponentFor(double largest) const {
  METIS_CHECK(std::isfinite(largest) && largest >= 0);
  int exponent = scale_exponent_;
  while (std::ldexp(1.0, exponent) < largest) ++exponent;
  return exponent;
}

Result<void> Community::Admit(LearnerId learner, const ModelPtr& model) const {
  if (model->schema()->hash() != pool_.schema()->hash()) {
    return Invalid(Text("the model of learner ", learner, " has another schema: ",
                        model->schema()->tensors().size(), " tensors and ", model->size(),
                        " parameters, the federation's has ", pool_.schema()->tensors().size(),
                        " and ", pool_.schema()->parameters(), "; was it built for another run?"));
  }
  return gate_.Check(*model);
}

WeightedModel Community::Weighted(int64_t share, const ModelPtr& model) const {
  return {model->parameters().data(), static_cast<double>(share) * kShareToSum};
}

double Community::Inverse() const { return 1.0 / (static_cast<double>(total_) * kShareToSum); }

std::optional<double> Community::contribution(LearnerId learner) const {
  auto found = shares_.find(learner);
  if (found == shares_.end()) return std::nullopt;
  return std::ldexp(static_cast<double>(found->second), scale_exponent_ - kContributionBits);
}

double Community::total_contribution() const {
  return std::ldexp(static_cast<double>(total_), scale_exponent_ - kContributionBits);
}

Result<std::vector<ModelPtr>> Community::StoredModels() const {
  if (!models_kept_) return Invalid("the learners' models are no longer kept");
  std::vector<ModelPtr> models;
  models.reserve(shares_.size());
  for (const auto& [learner, share] : shares_) {
    Result<ModelPtr> model = store_.Get(learner);
    if (!model) return model.error();
    models.push_back(*std::move(model));
  }
  return models;
}

std::vector<WeightedModel> Community::Terms(const std::vector<ModelPtr>& models) const {
  std::vector<WeightedModel> terms;
  terms.reserve(models.size());
  size_t at = 0;
  for (const auto& [learner, share] : shares_) terms.push_back(Weighted(share, models[at++]));
  return terms;
}

Result<Community::Sums> Community::SumUp(const std::map<LearnerId, int64_t>& shares) const {
  if (!models_kept_) return Invalid("the learners' models are no longer kept");
  const size_t size = current_->size();
  Sums sums(static_cast<int64_t*>(::operator new[](size * sizeof(int64_t), kAlignment)));
  std::fill_n(sums.get(), size, 0);
  for (const auto& [learner, share] : shares) {
    Result<ModelPtr> model = store_.Get(learner);
    if (!model) return model.error();
    kernels_.replace(sums.get(), Weighted(share, *model), {}, 0, nullptr, size);
  }
  return sums;
}

Result<void> Community::EnsureSums() {
  if (sums_) return {};
  Result<Sums> sums = SumUp(shares_);
  if (!sums) return sums.error();
  sums_ = *std::move(sums);
  return {};
}

// W and w_c in one pass over memory. Without any contribution left, w_c stays.
void Community::Exchange(WeightedModel incoming, WeightedModel outgoing) {
  size_t size = current_->size();
  if (total_ == 0) {
    kernels_.replace(sums_.get(), incoming, outgoing, 0, nullptr, size);
    return;
  }
  ModelDraft draft = pool_.Draft();
  std::span<float> community = draft.parameters();
  kernels_.replace(sums_.get(), incoming, outgoing, Inverse(), community.data(), size);
  if (Planted(PlantedBug::kFloatSum) && incoming.parameters != nullptr) {
    FloatExchange(*current_, 1 / Inverse(), incoming, outgoing, community);
  }
  current_ = std::move(draft).Seal();
}

Result<void> Community::Replace(LearnerId learner, double contribution, ModelPtr model) {
  Result<int64_t> share = Quantise(contribution, scale_exponent_);
  if (!share) return share.error();
  if (Result<void> admitted = Admit(learner, model); !admitted) return admitted.error();
  if (Result<void> sums = EnsureSums(); !sums) return sums.error();

  ModelPtr old_model;  // held so that the outgoing term stays readable after Put()
  WeightedModel outgoing;
  int64_t old_share = 0;
  if (auto known = shares_.find(learner); known != shares_.end()) {
    Result<ModelPtr> stored = store_.Get(learner);
    if (!stored) return stored.error();
    old_model = *std::move(stored);
    old_share = known->second;
    if (!Planted(PlantedBug::kOldTermKept)) outgoing = Weighted(old_share, old_model);
  } else if (shares_.size() >= gate_.max_learners) {
    return Invalid(
        Text("learner ", learner, " would be one more than max_learners = ", gate_.max_learners));
  }
  if (Result<void> put = store_.Put(learner, model); !put) return put.error();

  shares_[learner] = *share;
  total_ += *share - (Planted(PlantedBug::kOldShareKept) ? 0 : old_share);
  Exchange(Weighted(*share, model), outgoing);
  return {};
}

Result<void> Community::Withdraw(LearnerId learner) {
  auto known = shares_.find(learner);
  if (known == shares_.end()) {
    return NotFound(Text("learner ", learner, " has no model in the community"));
  }
  if (Result<void> sums = EnsureSums(); !sums) return sums.error();
  Result<ModelPtr> old_model = store_.Get(learner);
  if (!old_model) return old_model.error();
  int64_t old_share = known->second;
  shares_.erase(known);
  if (!Planted(PlantedBug::kWithdrawKeepsShare)) total_ -= old_share;
  Exchange({}, Weighted(old_share, *old_model));
  store_.Erase(learner);
  return {};
}

Result<void> Community::ReplaceAll(std::vector<Contribution> contributions, double largest) {
  const int exponent = ExponentFor(largest);
  if (contributions.size() > gate_.max_learners) {
    return Invalid(Text(contributions.size(),
                        " contributions are more than max_learners = ", gate_.max_learners));
  }
  std::map<LearnerId, int64_t> shares;
  std::map<LearnerId, ModelPtr> models;
  int64_t total = 0;
  for (const Contribution& each : contributions) {
    Result<int64_t> share = Quantise(each.contribution, exponent);
    if (!share) return share.error();
    if (Result<void> admitted = Admit(each.learner, each.model); !admitted) return admitted.error();
    METIS_CHECK(shares.emplace(each.learner, *share).second);
    models.emplace(each.learner, each.model);
    total += *share;
  }
  if (Result<void> put = store_.PutAll(models); !put) return put.error();
  for (const auto& [learner, share] : shares_) {
    if (!shares.contains(learner)) store_.Erase(learner);
  }
  shares_ = std::move(shares);
  scale_exponent_ = exponent;
  models_kept_ = true;
  total_ = total;
  sums_ = nullptr;
  if (total_ == 0) return {};
  // From the models at hand, not the store's: nothing can fail from here on.
  std::vector<WeightedModel> terms;
  terms.reserve(contributions.size());
  for (const Contribution& each : contributions) {
    terms.push_back(Weighted(shares_.at(each.learner), each.model));
  }
  current_ = Average(terms);
  return {};
}

void Community::ForgetModels() {
  for (const auto& [learner, share] : shares_) store_.Erase(learner);
  models_kept_ = false;
  sums_ = nullptr;
}

ModelPtr Community::Average(const std::vector<WeightedModel>& terms) const {
  METIS_CHECK(total_ > 0);
  ModelDraft draft = pool_.Draft();
  kernels_.average(terms, Inverse(), nullptr, draft.parameters().data(), current_->size());
  return std::move(draft).Seal();
}

Result<ModelPtr> Community::Recompute() const {
  if (total_ == 0 || !models_kept_) return current_;
  Result<std::vector<ModelPtr>> models = StoredModels();
  if (!models) return models.error();
  return Average(Terms(*models));
}

Result<void> Community::RaiseScale(double largest) {
  const int exponent = ExponentFor(largest);
  if (exponent == scale_exponent_) return {};
  // Shares move to the coarser grid; ties to even, as in Quantise().
  std::map<LearnerId, int64_t> shares = shares_;
  int64_t total = 0;
  for (auto& [learner, share] : shares) {
    share = static_cast<int64_t>(
        std::nearbyint(std::ldexp(static_cast<double>(share), scale_exponent_ - exponent)));
    total += share;
  }
  const bool summed = std::exchange(sums_, nullptr) != nullptr;
  if (models_kept_ && total > 0) {
    Result<Sums> sums = SumUp(shares);
    if (!sums) return sums.error();
    sums_ = *std::move(sums);
  }
  shares_ = std::move(shares);
  total_ = total;
  scale_exponent_ = exponent;
  if (sums_) Exchange({}, {});
  if (!summed) sums_ = nullptr;
  return {};
}

void Community::Save(BinaryWriter& archive) const {
  archive("scale_exponent", int64_t{scale_exponent_});
  archive("current", current_);
  std::map<LearnerId, std::pair<int64_t, StoredModel>> terms;
  for (const auto& [learner, share] : shares_) {
    Result<StoredModel> model = models_kept_ ? store_.Refer(learner) : StoredModel();
    METIS_CHECK_MSG(model.ok(), "a model of the community is no longer in its store");
    terms[learner] = {share, *std::move(model)};
  }
  archive("terms", terms);
}

Result<void> Community::Restore(BinaryReader& archive, bool set_aside) {
  int64_t exponent = 0;
  ModelPtr current;
  std::map<LearnerId, std::pair<int64_t, StoredModel>> terms;
  archive("scale_exponent", exponent);
  archive("current", current);
  archive("terms", terms);
  if (!current) return Invalid("the snapshot has no community model");
  if (exponent < 0 || exponent > 64) return Invalid(Text("the snapshot has scale 2^", exponent));
  scale_exponent_ = static_cast<int>(exponent);
  current_ = std::move(current);
  models_kept_ = terms.empty() || terms.begin()->second.second.exists();
  for (const auto& [learner, term] : terms) {
    const auto& [share, stored] = term;
    const bool in_range = share >= 0 && share <= (int64_t{1} << kContributionBits);
    if (!in_range || stored.exists() != models_kept_) {
      return Invalid(Text("the snapshot's contribution of learner ", learner, " is damaged"));
    }
    shares_[learner] = share;
    total_ += share;
    if (!models_kept_) continue;
    // One after the other: the store may have room for few of them.
    Result<ModelPtr> model = archive.Load(stored);
    if (!model) return model.error();
    if (Result<void> put = store_.Put(learner, *std::move(model)); !put) return put.error();
    if (set_aside) store_.SetAside(learner);
  }
  sums_ = nullptr;
  return {};
}

}  // namespace metis::federation
