#include "metis/core/statistics.h"

#include <algorithm>

namespace metis {
namespace {

template <typename K>
constexpr bool kIsNone = std::is_same_v<K, std::monostate>;

template <typename Variant>
std::string_view NameOfKind(const Variant& variant) {
  return std::visit(
      []<typename K>(const K&) {
        if constexpr (kIsNone<K>) {
          return std::string_view();
        } else {
          return K::kName;
        }
      },
      variant);
}

// Pools two of a variant of kinds; nothing at all is neutral.
template <typename Variant>
Result<void> AddKind(Variant& to, const Variant& other) {
  if (other.index() == 0) return {};
  if (to.index() == 0) {
    to = other;
    return {};
  }
  if (to.index() != other.index()) {
    return Invalid(Text("statistics of ", NameOfKind(other), " cannot be pooled with those of ",
                        NameOfKind(to)));
  }
  return std::visit(
      [&]<typename K>(K& kind) -> Result<void> {
        if constexpr (kIsNone<K>) {
          return {};
        } else {
          return kind.Add(std::get<K>(other));
        }
      },
      to);
}

template <typename K>
Result<void> CheckMetricOf(Metric metric) {
  if (std::find(K::kMetrics.begin(), K::kMetrics.end(), metric) != K::kMetrics.end()) return {};
  std::vector<std::string> own;
  for (const Metric each : K::kMetrics) own.emplace_back(NameOf(each));
  return Invalid(Text("statistics of ", K::kName, " have no metric \"", NameOf(metric),
                      "\": choose from ", Join(own)));
}

template <typename... K>
Result<void> CheckMetricOfKind(std::string_view name, Metric metric, KindList<K...>) {
  Result<void> checked;
  ((K::kName == name ? void(checked = CheckMetricOf<K>(metric)) : void()), ...);
  return checked;
}

}  // namespace

Declared::Declared() = default;
Declared::Declared(const Declared&) = default;
Declared::Declared(Declared&&) noexcept = default;
Declared& Declared::operator=(const Declared&) = default;
Declared& Declared::operator=(Declared&&) noexcept = default;
Declared::~Declared() = default;

Declared::Declared(std::vector<uint64_t> class_counts) {
  if (!class_counts.empty()) kind_ = ConfusionCounts::Declaration{std::move(class_counts)};
}

Declared::Declared(std::initializer_list<uint64_t> class_counts)
    : Declared(std::vector<uint64_t>(class_counts)) {}

std::string_view Declared::kind() const { return NameOfKind(kind_); }

uint64_t Declared::examples() const {
  uint64_t examples = 0;
  Visit([&](const auto& kind) { examples = kind.examples(); });
  return examples;
}

StatisticsForm Declared::form() const {
  StatisticsForm form;
  Visit([&]<typename K>(const K& kind) { form = {std::string(K::kName), kind.parts()}; });
  return form;
}

Result<void> Declared::CheckForm(const StatisticsForm& agreed) const {
  if (none() || !agreed.known()) return {};
  if (kind() != agreed.kind) {
    return Invalid(Text("has a validation set of ", kind(), ", the others have one of ",
                        agreed.kind, ": does it belong to another federation?"));
  }
  std::string_view unit;
  Visit([&]<typename K>(const K&) { unit = K::kParts; });
  if (form().parts == agreed.parts) return {};
  return Invalid(Text("has a validation set of ", form().parts, " ", unit, ", the others have ",
                      agreed.parts, ": does it use another data set?"));
}

const std::vector<uint64_t>& Declared::class_counts() const {
  static const std::vector<uint64_t> kNone;
  const auto* classes = std::get_if<ConfusionCounts::Declaration>(&kind_);
  return classes != nullptr ? classes->counts : kNone;
}

Result<void> Declared::Add(const Declared& other) { return AddKind(kind_, other.kind_); }

Result<void> Declared::CheckMetric(Metric metric) const {
  return CheckMetricOfKind(kind(), metric, StatisticsKinds());
}

Statistics::Statistics() = default;
Statistics::Statistics(const Statistics&) = default;
Statistics::Statistics(Statistics&&) noexcept = default;
Statistics& Statistics::operator=(const Statistics&) = default;
Statistics& Statistics::operator=(Statistics&&) noexcept = default;
Statistics::~Statistics() = default;

void Statistics::Normalise() {
  const auto* counts = As<ConfusionCounts>();
  if (counts != nullptr && counts->classes() == 0) kind_ = std::monostate();
}

std::string_view Statistics::kind() const { return NameOfKind(kind_); }

uint64_t Statistics::examples() const {
  uint64_t examples = 0;
  Visit([&](const auto& kind) { examples = kind.examples(); });
  return examples;
}

Result<void> Statistics::Add(const Statistics& other) { return AddKind(kind_, other.kind_); }

Result<void> Statistics::Check(const Declared& declared) const {
  // Where classes were declared, nothing at all is a matrix of no classes, and the reverse.
  const bool classes = (none() || AsConfusion().classes() > 0) &&
                       (declared.none() || !declared.class_counts().empty());
  if (classes) return AsConfusion().Check({declared.class_counts()});
  if (kind_.index() != declared.kind_.index()) {
    return Invalid(Text(none() ? "no statistics" : Text("statistics of ", kind()), ", but ",
                        declared.none() ? "no" : Text("a ", declared.kind()),
                        " validation set was declared on joining"));
  }
  return std::visit(
      [&]<typename K>(const K& kind) -> Result<void> {
        if constexpr (kIsNone<K>) {
          return {};
        } else {
          return kind.Check(std::get<typename K::Declaration>(declared.kind_));
        }
      },
      kind_);
}

Result<double> Statistics::Score(Metric metric) const {
  Result<double> score = 0.0;
  Visit([&]<typename K>(const K& kind) {
    Result<void> has = CheckMetricOf<K>(metric);
    score = has ? Result<double>(kind.Score(metric)) : Result<double>(has.error());
  });
  return score;
}

const ConfusionCounts& Statistics::AsConfusion() const {
  static const ConfusionCounts kNone;
  const auto* counts = As<ConfusionCounts>();
  return counts != nullptr ? *counts : kNone;
}

double Statistics::Headline() const {
  double headline = 0;
  Visit([&](const auto& kind) { headline = kind.Headline(); });
  return headline;
}

std::string_view Statistics::headline_name() const {
  std::string_view name = "score";
  Visit([&]<typename K>(const K&) { name = K::kHeadline; });
  return name;
}

}  // namespace metis
