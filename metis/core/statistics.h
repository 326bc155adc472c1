// What evaluators send of a model and the controller pools, checks and scores without knowing what
// it is: Statistics. What a participant declares of its validation set when it joins: Declared.
// Both are of one kind; nothing at all is of none, and pooling with it changes nothing.
//
// A kind is a class with these members, and a line in StatisticsKinds:
//
//   static constexpr std::string_view kName;       // of the task: "classification"
//   static constexpr std::string_view kHeadline;   // what Headline() is called: "accuracy"
//   static constexpr std::array<Metric, N> kMetrics;
//   struct Declaration;                            // kName, kParts, examples(), parts(), Add(),
//                                                  // Validate(), Describe()
//   uint64_t examples() const;
//   Result<void> Add(const Kind&);                 // exact in any order; unchanged on an error
//   Result<void> Check(const Declaration&) const;  // may these be of the declared set?
//   Result<void> Validate() const;                 // whatever Describe() read: may it exist?
//   double Score(Metric) const;                    // in [0, 1]; one of kMetrics
//   double Headline() const;                       // in [0, 1]; what tests and targets look at
//   template <typename A> void Describe(A&);       // its fields, as Fields() does (archive.h)
//
// Describe() is the form in snapshots, in the record and on the wire. Values; not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "metis/core/confusion.h"
#include "metis/core/metric.h"
#include "metis/core/regression_sums.h"
#include "metis/core/result.h"
#include "metis/core/text.h"

namespace metis {

template <typename... Kind>
struct KindList {
  using Counted = std::variant<std::monostate, Kind...>;
  using Declared = std::variant<std::monostate, typename Kind::Declaration...>;
  template <typename T>
  static constexpr bool kCounts = (std::is_same_v<T, Kind> || ...);
  template <typename T>
  static constexpr bool kDeclares = (std::is_same_v<T, typename Kind::Declaration> || ...);
};
// A new kind is added at the end.
using StatisticsKinds = KindList<ConfusionCounts, RegressionSums>;

// The alternative of a variant of kinds with this name, filled by `read(kind)` and validated.
template <typename Variant, size_t I = 1, typename Read>
Result<Variant> ReadKind(std::string_view name, const Read& read) {
  if constexpr (I == std::variant_size_v<Variant>) {
    return Invalid(Text("statistics of kind \"", name,
                        "\" are unknown: were they written by a newer program?"));
  } else {
    using Kind = std::variant_alternative_t<I, Variant>;
    if (Kind::kName != name) return ReadKind<Variant, I + 1>(name, read);
    Kind kind;
    read(kind);
    if (Result<void> valid = kind.Validate(); !valid) return valid.error();
    return Variant(std::move(kind));
  }
}

// What all statistics of a federation have in common.
struct StatisticsForm {
  std::string kind = {};  // empty: not known yet
  uint32_t parts = 0;     // classes; 0 for a kind without parts

  bool known() const { return !kind.empty(); }
};

class Declared {
 public:
  using Kind = StatisticsKinds::Declared;

  Declared();  // no validation set
  // These five are out of line: inlined into the variant of all events they cost time to compile,
  // and g++ 12 takes what it then sees for uninitialised.
  Declared(const Declared&);
  Declared(Declared&&) noexcept;
  Declared& operator=(const Declared&);
  Declared& operator=(Declared&&) noexcept;
  ~Declared();
  // Of classification: examples of each class; no classes are no validation set.
  Declared(std::vector<uint64_t> class_counts);            // NOLINT: implicit
  Declared(std::initializer_list<uint64_t> class_counts);  // NOLINT: implicit
  // Of any kind.
  template <typename D>
  requires(StatisticsKinds::kDeclares<D>) Declared(D declaration)  // NOLINT: implicit
      : kind_(std::move(declaration)) {}
  // `read(declaration)` fills the one that is called so.
  template <typename Read>
  static Result<Declared> OfKind(std::string_view name, const Read& read);

  bool none() const { return kind_.index() == 0; }
  std::string_view kind() const;  // empty for none
  uint64_t examples() const;      // at most 2^64 - 1, never wrapped around
  StatisticsForm form() const;
  const std::vector<uint64_t>& class_counts() const;  // empty unless of classification

  // No validation set agrees with everything, and everything with what is not known yet.
  Result<void> CheckForm(const StatisticsForm& agreed) const;
  // Another part of the same data set.
  Result<void> Add(const Declared& other);
  // Can statistics of this set be scored so?
  Result<void> CheckMetric(Metric metric) const;

  template <typename Visitor>
  void Visit(const Visitor& visitor) const {
    std::visit(
        [&]<typename K>(const K& kind) {
          if constexpr (!std::is_same_v<K, std::monostate>) visitor(const_cast<K&>(kind));
        },
        kind_);
  }

  friend bool operator==(const Declared&, const Declared&) = default;

 private:
  friend class Statistics;
  Kind kind_;
};

class Statistics {
 public:
  using Kind = StatisticsKinds::Counted;

  Statistics();                   // nothing was counted
  Statistics(const Statistics&);  // out of line, as those of Declared
  Statistics(Statistics&&) noexcept;
  Statistics& operator=(const Statistics&);
  Statistics& operator=(Statistics&&) noexcept;
  ~Statistics();
  // Of any kind; confusion counts of no classes are nothing at all.
  template <typename K>
  requires(StatisticsKinds::kCounts<K>) Statistics(K kind)  // NOLINT: implicit
      : kind_(std::move(kind)) {
    Normalise();
  }
  // `read(kind)` fills the one that is called so.
  template <typename Read>
  static Result<Statistics> OfKind(std::string_view name, const Read& read);

  bool none() const { return kind_.index() == 0; }
  std::string_view kind() const;  // empty for none
  uint64_t examples() const;

  // Pools another evaluator's; exact in any order. An error, and nothing changes, where they are of
  // another kind or form, or too many.
  Result<void> Add(const Statistics& other);
  // An error that says what contradicts the declared set.
  Result<void> Check(const Declared& declared) const;
  // In [0, 1]; of nothing 0; an error that names the kind's own metrics for any other one.
  Result<double> Score(Metric metric) const;
  // The kind's own score, in [0, 1], and what it is called.
  double Headline() const;
  std::string_view headline_name() const;

  // To show more of a kind than its scores; null for other kinds.
  template <typename K>
  const K* As() const {
    return std::get_if<K>(&kind_);
  }
  const ConfusionCounts& AsConfusion() const;  // of no classes for other kinds

  // For archives, which read through OfKind() and only write what they see here.
  template <typename Visitor>
  void Visit(const Visitor& visitor) const {
    std::visit(
        [&]<typename K>(const K& kind) {
          if constexpr (!std::is_same_v<K, std::monostate>) visitor(const_cast<K&>(kind));
        },
        kind_);
  }

  friend bool operator==(const Statistics&, const Statistics&) = default;

 private:
  void Normalise();

  Kind kind_;
};

template <typename Read>
Result<Declared> Declared::OfKind(std::string_view name, const Read& read) {
  Result<Kind> kind = ReadKind<Kind>(name, read);
  if (!kind) return kind.error();
  Declared declared;
  declared.kind_ = *std::move(kind);
  return declared;
}

template <typename Read>
Result<Statistics> Statistics::OfKind(std::string_view name, const Read& read) {
  Result<Kind> kind = ReadKind<Kind>(name, read);
  if (!kind) return kind.error();
  Statistics statistics;
  statistics.kind_ = *std::move(kind);
  statistics.Normalise();
  return statistics;
}

}  // namespace metis
