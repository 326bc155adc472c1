#include "metis/experiment/table_spec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "metis/config/keys.h"
#include "metis/config/suggest.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/federation/settings.h"
#include "metis/policy/policy.h"

namespace metis::experiment {
namespace {

namespace fs = std::filesystem;
using config::DocumentSection;
using config::Entry;

constexpr const char* kTableFile = "table.toml";

// The text of a key that must be there.
Result<std::string> TextOf(const DocumentSection& section, std::string_view key) {
  for (const Entry& entry : section.entries) {
    if (entry.key != key) continue;
    if (entry.value.text() != nullptr && !entry.value.text()->empty()) return *entry.value.text();
    return Invalid(
        Text(entry.value.place.text, ": ", key, " = ", entry.value.written, ": must be a text"));
  }
  return Invalid(Text(section.place.text, ": [", section.name, "] lacks ", key));
}

bool Has(const std::vector<std::string>& known, std::string_view word) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

Error UnknownKey(const DocumentSection& section, const Entry& entry,
                 const std::vector<std::string>& known) {
  return Invalid(Text(entry.value.place.text, ": [", section.name, "] has no key ", entry.key,
                      config::DidYouMean(": ", entry.key, known)));
}

Result<void> RefuseOtherKeys(const DocumentSection& section,
                             const std::vector<std::string>& known) {
  for (const Entry& entry : section.entries) {
    if (!Has(known, entry.key)) return UnknownKey(section, entry, known);
  }
  return {};
}

// All keys but the section's own: those of the configuration that a row or a column sets.
Result<std::vector<config::Assignment>> ReadKeys(const DocumentSection& section,
                                                 const std::vector<std::string>& own) {
  std::vector<config::Assignment> keys;
  for (const Entry& entry : section.entries) {
    if (Has(own, entry.key)) continue;
    if (entry.key.find('.') == entry.key.npos) return UnknownKey(section, entry, own);
    const config::Value& value = entry.value;
    if (std::holds_alternative<std::monostate>(value.data)) {
      return Invalid(Text(value.place.text, ": ", entry.key, " = ", value.written,
                          ": must be a text, a number, true or false"));
    }
    // As it would be typed on the command line.
    keys.push_back({entry.key, value.text() ? Text('"', *value.text(), '"') : value.written,
                    value.place.text});
  }
  return keys;
}

// An id becomes a directory: letters, digits, '-' and '_', so that it stays where it belongs.
Result<std::string> IdOf(const DocumentSection& section, std::string_view key) {
  Result<std::string> id = TextOf(section, key);
  if (!id) return id;
  bool plain = std::all_of(id->begin(), id->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (plain) return id;
  return Invalid(Text(section.place.text, ": ", key, " = \"", *id,
                      "\": must be made of letters, digits, - and _"));
}

Result<void> ReadColumn(const DocumentSection& section, TableSpec& table) {
  Result<std::vector<config::Assignment>> keys = ReadKeys(section, {"policy", "label"});
  if (!keys) return keys.error();
  Result<std::string> policy = TextOf(section, "policy");
  if (!policy) return policy.error();
  Result<std::string> label = TextOf(section, "label");
  if (!label) return label.error();
  if (!policy::PolicyNamed(*policy)) {
    std::vector<std::string> all(std::begin(policy::kPolicyNames), std::end(policy::kPolicyNames));
    return Invalid(Text(section.place.text, ": there is no policy \"", *policy, "\"",
                        config::DidYouMean(": ", *policy, all)));
  }
  for (const TableColumn& other : table.columns) {
    if (other.policy != *policy) continue;
    return Invalid(Text(section.place.text, ": there is a column ", *policy, " already"));
  }
  table.columns.push_back({*policy, *label, *std::move(keys)});
  return {};
}

Result<void> ReadRow(const DocumentSection& section, TableSpec& table) {
  Result<std::vector<config::Assignment>> keys = ReadKeys(section, {"id", "label"});
  if (!keys) return keys.error();
  Result<std::string> id = IdOf(section, "id");
  if (!id) return id.error();
  Result<std::string> label = TextOf(section, "label");
  if (!label) return label.error();
  for (const TableRow& other : table.rows) {
    if (other.id != *id) continue;
    return Invalid(Text(section.place.text, ": there is a row ", *id, " already"));
  }
  table.rows.push_back({*id, *label, *std::move(keys)});
  return {};
}

// "10000s" or "200 rounds"
Result<void> ReadMoment(const DocumentSection& section, Measure& measure) {
  constexpr std::string_view kRounds = " rounds";
  std::string_view text = measure.at;
  if (!text.ends_with(kRounds)) {
    Result<Duration> time = ParseDuration(text);
    if (!time) return time.error().In(Text(section.place.text, ": at"));
    measure.time = *time;
    return {};
  }
  text.remove_suffix(kRounds.size());
  const uint64_t rounds = ParseNumber<uint64_t>(text).value_or(0);
  if (rounds == 0) {
    return Invalid(Text(section.place.text, ": at = \"", measure.at,
                        "\": must be a time (\"10000s\") or rounds (\"200 rounds\")"));
  }
  measure.rounds = rounds;
  return {};
}

// "0.828 0.825": a figure or "-" for each column.
Result<std::vector<std::optional<double>>> ReadFigures(const TableSpec& table, const Entry& entry) {
  const std::string where = Text(entry.value.place.text, ": ", entry.key);
  if (entry.value.text() == nullptr) {
    return Invalid(Text(where, " = ", entry.value.written,
                        ": must be a text of figures, one for each column: \"0.828 0.825\""));
  }
  std::vector<std::optional<double>> figures;
  std::istringstream words(*entry.value.text());
  for (std::string word; words >> word;) {
    const double figure = ParseNumber<double>(word).value_or(-1);
    if (word != "-" && !(figure >= 0 && figure <= 1)) {
      return Invalid(Text(where, ": \"", word, "\" is no accuracy: it must be in [0, 1], or -"));
    }
    figures.push_back(word == "-" ? std::nullopt : std::optional(figure));
  }
  if (figures.size() != table.columns.size()) {
    return Invalid(Text(where, " has ", figures.size(), " figures, but there are ",
                        table.columns.size(), " columns: write - where the paper has none"));
  }
  return figures;
}

// After columns and rows: its keys are the ids of the rows.
Result<void> ReadMeasure(const DocumentSection& section, TableSpec& table) {
  std::vector<std::string> known = {"at", "label"};
  for (const TableRow& row : table.rows) known.push_back(row.id);
  if (Result<void> checked = RefuseOtherKeys(section, known); !checked) return checked;
  Result<std::string> at = TextOf(section, "at");
  if (!at) return at.error();
  Result<std::string> label = TextOf(section, "label");
  if (!label) return label.error();
  Measure measure{.at = *at, .label = *label};
  if (Result<void> read = ReadMoment(section, measure); !read) return read;
  for (const TableRow& row : table.rows) {
    auto entry = std::find_if(section.entries.begin(), section.entries.end(),
                              [&](const Entry& e) { return e.key == row.id; });
    if (entry == section.entries.end()) {
      return Invalid(Text(section.place.text, ": [measure] lacks the figures of ", row.id));
    }
    auto figures = ReadFigures(table, *entry);
    if (!figures) return figures.error();
    measure.paper.push_back(*std::move(figures));
  }
  table.measures.push_back(std::move(measure));
  return {};
}

Result<void> ReadHead(const DocumentSection& section, TableSpec& table) {
  if (Result<void> known = RefuseOtherKeys(section, {"title", "paper"}); !known) return known;
  Result<std::string> title = TextOf(section, "title");
  if (!title) return title.error();
  Result<std::string> paper = TextOf(section, "paper");
  if (!paper) return paper.error();
  table.title = *title;
  table.paper = *paper;
  return {};
}

Result<void> ReadSections(const config::Document& document, std::string_view name, bool repeated,
                          Result<void> (*read)(const DocumentSection&, TableSpec&),
                          const std::string& file, TableSpec& table) {
  size_t found = 0;
  for (const DocumentSection& section : document.sections) {
    if (section.name != name || section.repeated != repeated) continue;
    ++found;
    if (Result<void> done = read(section, table); !done) return done;
  }
  if (found > 0) return {};
  return Invalid(Text(file, " lacks ", repeated ? "[[" : "[", name, repeated ? "]]" : "]"));
}

}  // namespace

std::string TableSpec::file() const { return Text(directory, "/", kTableFile); }

Result<config::Config> CellConfig(const TableSpec& table, size_t row, size_t column,
                                  const std::vector<config::Assignment>& keys) {
  const TableRow& its_row = table.rows[row];
  const TableColumn& its_column = table.columns[column];
  std::vector<config::Assignment> all = its_row.keys;
  all.insert(all.end(), its_column.keys.begin(), its_column.keys.end());
  all.push_back({"federation.policy", its_column.policy, table.file()});
  all.insert(all.end(), keys.begin(), keys.end());
  Result<config::Config> config = config::ParseConfig(table.common, table.file(), all);
  if (!config) return config;
  const std::string_view policy = policy::NameOf(config->federation.policy);
  if (policy != its_column.policy) {
    return Invalid(Text(table.file(), ": the policy of ", its_row.id, " is ", policy, ", not ",
                        its_column.policy, " as its column says: set no part of a policy there"));
  }
  if (Result<void> read = data::ReadTable(config->data); !read) return read.error();
  return config;
}

Result<TableSpec> ParseTableSpec(std::string_view text, const std::string& directory) {
  TableSpec table{.name = fs::path(directory).filename().string(),
                  .directory = directory,
                  .title = {},
                  .paper = {},
                  .columns = {},
                  .rows = {},
                  .measures = {},
                  .common = {}};
  const std::string file = table.file();
  Result<config::Document> document = config::ParseDocument(text, file, config::DottedKeys::kPaths);
  if (!document) return document.error();
  for (const Entry& entry : document->loose) {
    return Invalid(Text(entry.value.place.text, ": ", entry.key, " stands in no section"));
  }
  const std::vector<std::string> own = {"table", "column", "row", "measure"};
  std::vector<std::string> known = own;
  known.emplace_back(config::kGroup);
  for (const config::Section& section : config::Sections()) known.emplace_back(section.name);
  for (const DocumentSection& section : document->sections) {
    if (Has(own, section.name)) continue;
    if (!Has(known, section.name)) {
      return Invalid(Text(section.place.text, ": there is no section ", section.name,
                          config::DidYouMean(": ", section.name, known)));
    }
    table.common.sections.push_back(section);
  }
  Result<void> read = ReadSections(*document, "table", false, ReadHead, file, table);
  if (read) read = ReadSections(*document, "column", true, ReadColumn, file, table);
  if (read) read = ReadSections(*document, "row", true, ReadRow, file, table);
  if (read) read = ReadSections(*document, "measure", true, ReadMeasure, file, table);
  if (!read) return read.error();
  return table;
}

Result<TableSpec> ReadTableSpec(const std::string& directory) {
  const std::string path = Text(directory, "/", kTableFile);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return NotFound(Text("there is no ", path, ", or it can't be read"));
  return ParseTableSpec(text.str(), directory);
}

Result<std::vector<std::string>> TableNames(const std::string& experiments) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator i(experiments, error), end; !error && i != end; i.increment(error)) {
    if (fs::exists(i->path() / kTableFile)) names.push_back(i->path().filename().string());
  }
  if (error) {
    return NotFound(Text("there are no experiments in ", experiments, " (", error.message(),
                         "): run this in the directory of Metis' sources, or name theirs with "
                         "--experiments"));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<TableSpec> FindTable(const std::string& experiments, const std::string& name,
                            const std::vector<std::string>& others) {
  Result<std::vector<std::string>> names = TableNames(experiments);
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), name) == names->end()) {
    names->insert(names->end(), others.begin(), others.end());
    return Invalid(Text("there is no table \"", name, "\" in ", experiments,
                        config::DidYouMean(": ", name, *names), " (tables: ", Join(*names), ")"));
  }
  return ReadTableSpec(Text(experiments, "/", name));
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::string_view piece : Split(text, ',')) {
    if (!piece.empty()) pieces.emplace_back(piece);
  }
  return pieces;
}

namespace {

Result<size_t> Find(const std::vector<std::string>& names, const std::string& name,
                    std::string_view what, const TableSpec& table) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return Invalid(Text("the table ", table.name, " has no ", what, " \"", name, "\"",
                      config::DidYouMean(": ", name, names), " (", what, "s: ", Join(names), ")"));
}

std::vector<std::string> IdsOf(const TableSpec& table) {
  std::vector<std::string> ids;
  for (const TableRow& row : table.rows) ids.push_back(row.id);
  return ids;
}

std::vector<std::string> PoliciesOf(const TableSpec& table) {
  std::vector<std::string> policies;
  for (const TableColumn& column : table.columns) policies.push_back(column.policy);
  return policies;
}

// The indices of the names that a word of `text` fits, in the order of the names.
Result<std::vector<size_t>> Choose(const std::vector<std::string>& names, std::string_view text,
                                   std::string_view option,
                                   bool (*fits)(const std::string& name, const std::string& word)) {
  std::vector<bool> chosen(names.size(), text.empty());
  for (const std::string& word : SplitAtCommas(text)) {
    bool any = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!fits(names[i], word)) continue;
      any = chosen[i] = true;
    }
    if (any) continue;
    return Invalid(Text(option, " ", word, " fits none of ", Join(names),
                        config::DidYouMean("; ", word, names, "", "")));
  }
  std::vector<size_t> indices;
  for (size_t i = 0; i < names.size(); ++i) {
    if (chosen[i]) indices.push_back(i);
  }
  return indices;
}

}  // namespace

Result<std::vector<size_t>> ChooseRows(const TableSpec& table, std::string_view text) {
  return Choose(IdsOf(table), text, "--rows", [](const std::string& name, const std::string& word) {
    return name.starts_with(word);
  });
}

Result<std::vector<size_t>> ChooseColumns(const TableSpec& table, std::string_view text) {
  return Choose(PoliciesOf(table), text, "--columns",
                [](const std::string& name, const std::string& word) { return name == word; });
}

Result<size_t> FindRow(const TableSpec& table, const std::string& id) {
  return Find(IdsOf(table), id, "row", table);
}

Result<size_t> FindColumn(const TableSpec& table, const std::string& policy) {
  return Find(PoliciesOf(table), policy, "column", table);
}

}  // namespace metis::experiment
