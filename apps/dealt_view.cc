#include "apps/dealt_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/table.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

using data::DealSettings;
using data::DealtData;
using data::DealtLearner;
using Json = nlohmann::ordered_json;

constexpr uint32_t kClassesAcross = 12;  // what fits beside the other columns on a terminal
constexpr size_t kLineWidth = 100;

size_t ClassesHeld(const data::Share& share) {
  return static_cast<size_t>(std::count_if(share.class_counts.begin(), share.class_counts.end(),
                                           [](uint64_t count) { return count > 0; }));
}

std::string Cell(uint64_t count) { return count == 0 ? "." : Text(count); }

// The columns that every learner has, whatever the classes.
class LearnerColumns {
 public:
  explicit LearnerColumns(const DealtData& dealt)
      : dealt_(dealt),
        validation_(dealt.settings.validation.has_value()),
        writers_(dealt.settings.partition.classes == data::ClassDistribution::kWriters) {}

  std::vector<Table::Column> Titles() const {
    std::vector<Table::Column> titles = {
        {"learner"}, {"wanted", Align::kRight}, {"got", Align::kRight}};
    if (validation_) titles.push_back({"training", Align::kRight});
    if (validation_) titles.push_back({"validation", Align::kRight});
    if (writers_) titles.push_back({"writers", Align::kRight});
    titles.push_back({"classes", Align::kRight});
    return titles;
  }

  std::vector<std::string> Of(size_t k) const {
    const data::Share& share = dealt_.partition.shares[k];
    const DealtLearner& learner = dealt_.learners[k];
    std::vector<std::string> cells = {Text(k, learner.faulty ? "*" : ""), Text(share.wanted),
                                      Text(share.examples.size())};
    if (validation_) cells.push_back(Text(learner.training));
    if (validation_) cells.push_back(Text(learner.validation));
    if (writers_) cells.push_back(Text(learner.writers));
    cells.push_back(Text(ClassesHeld(share)));
    return cells;
  }

  std::vector<std::string> Total() const {
    uint64_t wanted = 0, training = 0, validation = 0, writers = 0;
    for (size_t k = 0; k < dealt_.learners.size(); ++k) {
      wanted += dealt_.partition.shares[k].wanted;
      training += dealt_.learners[k].training;
      validation += dealt_.learners[k].validation;
      writers += dealt_.learners[k].writers;
    }
    std::vector<std::string> cells = {"total", Text(wanted), Text(dealt_.dealt())};
    if (validation_) cells.push_back(Text(training));
    if (validation_) cells.push_back(Text(validation));
    if (writers_) cells.push_back(Text(writers));
    cells.push_back("");
    return cells;
  }

  std::vector<std::string> LeftOver() const {
    std::vector<std::string> cells = {"left over", "", Text(dealt_.partition.left_over)};
    cells.resize(Titles().size());
    return cells;
  }

 private:
  const DealtData& dealt_;
  const bool validation_, writers_;
};

// Counts of the classes from `first` to before `last`, with the learners' other columns if `whole`.
void PrintCounts(const DealtData& dealt, uint32_t first, uint32_t last, bool whole,
                 std::ostream& out, bool styled) {
  const LearnerColumns learners(dealt);
  auto begin = [&](std::vector<std::string> cells) {
    if (!whole) cells.resize(1);
    return cells;
  };
  std::vector<Table::Column> titles = learners.Titles();
  if (!whole) titles.resize(1);
  for (uint32_t c = first; c < last; ++c) titles.push_back({Text(c), Align::kRight});
  Table table(std::move(titles));
  std::vector<uint64_t> totals(dealt.set.classes());
  for (size_t k = 0; k < dealt.learners.size(); ++k) {
    std::vector<std::string> cells = begin(learners.Of(k));
    for (uint32_t c = first; c < last; ++c) {
      const uint64_t count = dealt.partition.shares[k].class_counts[c];
      totals[c] += count;
      cells.push_back(Cell(count));
    }
    table.AddRow(std::move(cells));
  }
  std::vector<std::string> cells = begin(learners.Total());
  for (uint32_t c = first; c < last; ++c) cells.push_back(Cell(totals[c]));
  table.AddRow(std::move(cells));
  if (dealt.partition.left_over > 0) {
    const std::vector<uint64_t> left = dealt.left_over();
    cells = begin(learners.LeftOver());
    for (uint32_t c = first; c < last; ++c) cells.push_back(Cell(left[c]));
    table.AddRow(std::move(cells));
  }
  table.Print(out, styled);
}

// For many classes: how unequal the classes of a learner are, and which it has most of.
void PrintSummary(const DealtData& dealt, std::ostream& out, bool styled) {
  const LearnerColumns learners(dealt);
  std::vector<Table::Column> titles = learners.Titles();
  for (const char* title : {"least", "median", "most"}) titles.push_back({title, Align::kRight});
  titles.push_back({"most of"});
  Table table(std::move(titles));
  for (size_t k = 0; k < dealt.learners.size(); ++k) {
    const std::vector<uint64_t>& counts = dealt.partition.shares[k].class_counts;
    std::vector<uint64_t> held;
    std::copy_if(counts.begin(), counts.end(), std::back_inserter(held),
                 [](uint64_t count) { return count > 0; });
    std::sort(held.begin(), held.end());
    const auto most = std::max_element(counts.begin(), counts.end()) - counts.begin();
    std::vector<std::string> cells = learners.Of(k);
    for (uint64_t count : {held.front(), held[held.size() / 2], held.back()}) {
      cells.push_back(Text(count));
    }
    cells.push_back(dealt.set.ClassName(static_cast<uint32_t>(most)));
    table.AddRow(std::move(cells));
  }
  for (bool left_over : {false, true}) {
    if (left_over && dealt.partition.left_over == 0) continue;
    std::vector<std::string> cells = left_over ? learners.LeftOver() : learners.Total();
    cells.resize(table.columns().size());
    table.AddRow(std::move(cells));
  }
  table.Print(out, styled);
  out << "\nleast, median, most: examples of a class, over the classes that the learner holds; "
         "--full shows all.\n";
}

// "0 T-shirt/top, 1 Trouser, ...", in lines of a terminal's width.
void PrintClassNames(const data::Dataset& set, std::ostream& out) {
  if (set.class_names().empty()) return;
  std::string line = "classes:";
  for (uint32_t c = 0; c < set.classes(); ++c) {
    const std::string entry = Text(" ", c, " ", set.ClassName(c), c + 1 < set.classes() ? "," : "");
    if (line.size() + entry.size() > kLineWidth) {
      out << line << "\n";
      line = "        ";
    }
    line += entry;
  }
  out << line << "\n";
}

void PrintVerdict(const DealtData& dealt, std::ostream& out) {
  const data::Partition& partition = dealt.partition;
  out << Count(dealt.dealt(), "example") << " of " << dealt.set.size() << " dealt to "
      << Count(dealt.learners.size(), "learner") << " (seed " << dealt.settings.seed << ").\n";
  if (dealt.settings.partition.classes == data::ClassDistribution::kWriters) {
    uint64_t more = 0, fewer = 0;
    for (const data::Share& share : partition.shares) {
      const uint64_t got = share.examples.size();
      more = std::max(more, got - std::min(got, share.wanted));
      fewer = std::max(fewer, share.wanted - std::min(got, share.wanted));
    }
    out << "Whole writers: a learner got at most " << more << " more or " << fewer
        << " fewer examples than wanted; " << partition.shortfall << " fewer in all.\n";
  } else if (partition.shortfall > 0) {
    out << "Shortfall: " << Count(partition.shortfall, "example")
        << " that learners wanted could not be given, their classes have no more.\n";
  }
  if (partition.left_over > 0) {
    out << "Left over: " << Count(partition.left_over, "example") << " that no learner got.\n";
  }
  for (size_t k = 0; k < dealt.learners.size(); ++k) {
    const DealtLearner& learner = dealt.learners[k];
    if (!learner.faulty) continue;
    out << "* learner " << k << " is faulty, " << *learner.faulty << ": " << learner.labels_changed
        << " of " << partition.shares[k].examples.size()
        << " labels are wrong; the table shows the right ones.\n";
  }
}

}  // namespace

std::string Count(uint64_t number, std::string_view noun) {
  return Text(number, " ", noun, number == 1 ? "" : "s");
}

void PrintDealt(const DealtData& dealt, bool full, std::ostream& out, bool styled) {
  const uint32_t classes = dealt.set.classes();
  const bool fits = classes <= kClassesAcross;
  if (fits) {
    PrintCounts(dealt, 0, classes, true, out, styled);
  } else {
    PrintSummary(dealt, out, styled);
  }
  for (uint32_t first = 0; full && !fits && first < classes; first += kClassesAcross) {
    out << "\n";
    PrintCounts(dealt, first, std::min(first + kClassesAcross, classes), false, out, styled);
  }
  out << "\n";
  if (fits || full) PrintClassNames(dealt.set, out);
  PrintVerdict(dealt, out);
}

std::string DealtAsJson(const DealtData& dealt) {
  const DealSettings& settings = dealt.settings;
  const std::vector<uint64_t> left = dealt.left_over();
  Json classes = Json::array();
  for (uint32_t c = 0; c < dealt.set.classes(); ++c) {
    classes.push_back({{"name", dealt.set.ClassName(c)},
                       {"examples", dealt.set.class_counts()[c]},
                       {"left_over", left[c]}});
  }
  Json learners = Json::array();
  for (size_t k = 0; k < dealt.learners.size(); ++k) {
    const DealtLearner& learner = dealt.learners[k];
    const data::Share& share = dealt.partition.shares[k];
    Json row = {{"learner", k}, {"wanted", share.wanted}, {"examples", share.examples.size()}};
    if (settings.validation) {
      row["training"] = learner.training;
      row["validation"] = learner.validation;
    }
    if (learner.writers > 0) row["writers"] = learner.writers;
    if (learner.faulty) {
      row["faulty"] = *learner.faulty;
      row["labels_changed"] = learner.labels_changed;
    }
    row["class_counts"] = share.class_counts;
    learners.push_back(std::move(row));
  }
  Json all = {{"data", dealt.set.name()},
              {"examples", dealt.set.size()},
              {"sizes", data::FormatSizes(settings.partition)},
              {"class_distribution", data::FormatClasses(settings.partition)},
              {"seed", settings.seed},
              {"validation", settings.validation ? Json(*settings.validation) : Json()},
              {"dealt", dealt.dealt()},
              {"shortfall", dealt.partition.shortfall},
              {"left_over", dealt.partition.left_over},
              {"classes", std::move(classes)},
              {"learners", std::move(learners)}};
  // File names need not be UTF-8, JSON is.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string DealtAsCsv(const DealtData& dealt) {
  std::vector<std::vector<uint64_t>> counts;
  for (const data::Share& share : dealt.partition.shares) counts.push_back(share.class_counts);
  return data::FormatClassTable(dealt.set.class_names(), counts);
}

}  // namespace metis::apps
