// The community model as running sums (paper, section III): W = sum of p_k w_k and P = sum of p_k,
// over the latest model of every learner; w_c = W / P.
//
// Replacing or withdrawing one learner costs O(M), whatever the number of learners. Sums are exact:
// p is an integer on a grid of 2^-30 and each p w one on 2^-40, so Current() equals Recompute() bit
// for bit, after any number of changes in any order, with any instruction set. A first commit
// therefore gives w_c = w_k to within 2^-41 / p. If P is 0, w_c stays what it was.
//
// Not thread-safe: one Controller owns one Community.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/ids.h"
#include "metis/core/kernels.h"
#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/federation/model_store.h"

namespace metis::federation {

// What an update must fulfil before it may touch the sums: in floating or integer sums alike, one
// NaN or 1e30 would stay for ever.
struct Gate {
  double max_parameter = 8192;   // magnitudes at or above are refused
  uint32_t max_learners = 1000;  // times max_parameter: below 2^23, or the sums could overflow

  Result<void> Check(const Model& model) const;
};

struct Contribution {
  LearnerId learner;
  double contribution = 0;
  ModelPtr model;
};

class Community {
 public:
  // `pool` gives the buffers of w_c, `store` keeps the learners' models; both outlive the
  // community. Checked: gate.max_parameter * gate.max_learners < 2^23.
  Community(ModelPtr initial, Gate gate, ModelPool& pool, ModelStore& store,
            const Kernels& kernels = BestKernels());

  // (p', w') of the learner becomes (p, w). O(M). An error (gate, schema, contribution outside [0,
  // scale], too many learners, store) changes nothing.
  Result<void> Replace(LearnerId learner, double contribution, ModelPtr model);

  // Takes the learner out, as if it had never contributed. O(M). An error if it has not.
  Result<void> Withdraw(LearnerId learner);

  // The whole set at once, as a synchronous round ends: whoever is not named is no longer part of
  // it. One O(M N) pass; the scale is raised to `largest` first, if that is higher, and no old
  // model is read for it. An error changes nothing.
  Result<void> ReplaceAll(std::vector<Contribution> contributions, double largest = 0);

  // The learner's model will hardly be read again before it is replaced.
  void SetAside(LearnerId learner) { store_.SetAside(learner); }

  // Lets go of the learners' models and keeps what was made of them: until the next ReplaceAll()
  // nobody can be replaced or withdrawn, and Recompute() gives Current().
  void ForgetModels();

  // The definition, from scratch, with all models at hand: O(M N).
  Result<ModelPtr> Recompute() const;

  const ModelPtr& Current() const { return current_; }

  // Contributions are at most `scale`, a power of two: 1 for metrics, more for numbers of examples.
  // Raising it rebuilds the sums on the coarser grid, O(M N); it never falls. An error (store)
  // changes nothing. Checked here and in ReplaceAll(): largest >= 0, finite.
  Result<void> RaiseScale(double largest);
  double scale() const;

  // As rounded to the grid; empty for a learner that is not part of the community.
  std::optional<double> contribution(LearnerId learner) const;
  double total_contribution() const;
  size_t learners() const { return shares_.size(); }

  void Save(BinaryWriter& archive) const;
  // Into a freshly constructed community; the store is filled, and each model set aside as it comes
  // if asked for. An error leaves it unusable.
  Result<void> Restore(BinaryReader& archive, bool set_aside = false);

 private:
  struct FreeSums {
    void operator()(int64_t* sums) const;
  };
  using Sums = std::unique_ptr<int64_t[], FreeSums>;

  // Of the least scale that is neither below the present one nor below `largest`.
  int ExponentFor(double largest) const;
  Result<void> Admit(LearnerId learner, const ModelPtr& model) const;
  WeightedModel Weighted(int64_t share, const ModelPtr& model) const;
  double Inverse() const;  // of P, from the sums' grid to plain values
  Result<std::vector<ModelPtr>> StoredModels() const;
  std::vector<WeightedModel> Terms(const std::vector<ModelPtr>& models) const;
  ModelPtr Average(const std::vector<WeightedModel>& terms) const;  // checked: P is not 0
  // W of the stored models, which are read one after the other. O(M N).
  Result<Sums> SumUp(const std::map<LearnerId, int64_t>& shares) const;
  Result<void> EnsureSums();
  void Exchange(WeightedModel incoming, WeightedModel outgoing);

  Gate gate_;
  ModelPool& pool_;
  ModelStore& store_;
  const Kernels& kernels_;

  ModelPtr current_;
  std::map<LearnerId, int64_t> shares_;  // p_k on the grid, in id order
  bool models_kept_ = true;              // the store has the model of everybody in shares_
  int64_t total_ = 0;                    // P on the grid
  int scale_exponent_ = 0;
  Sums sums_;  // W; null until it is needed, and after ReplaceAll until it is needed again
};

}  // namespace metis::federation
