#include "metis/config/reader.h"

#include <algorithm>

#include "metis/config/suggest.h"
#include "metis/core/text.h"

namespace metis::config {
namespace {

constexpr const char* kPolicy = "federation.policy";
constexpr std::string_view kAggregator = "aggregator";

std::vector<std::string> SectionNames() {
  std::vector<std::string> names;
  for (const Section& section : Sections()) names.emplace_back(section.name);
  names.emplace_back(kGroup);
  return names;
}

// As it is written in a file.
std::string Header(std::string_view section) {
  return section == kGroup ? Text("[[", section, "]]") : Text("[", section, "]");
}

// The sections other than `but` that have a key of this name.
std::vector<std::string> HomesOf(std::string_view key, std::string_view but) {
  std::vector<std::string> homes;
  for (const Section& section : Sections()) {
    if (section.name != but && FindKey(section.keys, key)) homes.push_back(Header(section.name));
  }
  if (but != kGroup && FindKey(GroupKeys(), key)) homes.push_back(Header(kGroup));
  return homes;
}

std::string UnknownKey(std::string_view key, std::string_view section,
                       const std::vector<std::string>& allowed) {
  std::vector<std::string> homes = HomesOf(key, section);
  std::string hint = homes.empty() ? DidYouMean(": ", key, allowed)
                                   : Text(": it belongs in ", Join(homes, " or "));
  return Text("unknown key ", Quoted(key), " in ", Header(section), hint,
              " (allowed: ", Join(allowed), ")");
}

// Of a key outside of any section, or of the one that it is a slip of.
std::string WhereItBelongs(std::string_view key) {
  const std::vector<std::string> homes = HomesOf(key, "");
  if (!homes.empty()) return Text(": it belongs in ", Join(homes, " or "));
  std::vector<std::string> known = NamesOf(GroupKeys());
  for (const Section& section : Sections()) {
    for (std::string& name : NamesOf(section.keys)) known.push_back(std::move(name));
  }
  const std::string nearest = Nearest(key, known);
  if (nearest.empty()) return "";
  return Text(": did you mean ", Quoted(nearest), " in ", Join(HomesOf(nearest, ""), " or "), "?");
}

// Bytes that are no ASCII as "\xe9".
std::string Escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out;
}

}  // namespace

void Reader::Report(const Place& place, std::string message) {
  problems_.push_back({place, std::move(message)});
}

void Reader::ReportUnknownSection(std::string_view name, const Place& place,
                                  std::string_view thing) {
  std::string suggestion = Suggest(name, SectionNames());
  std::vector<std::string> headers;
  for (const std::string& known : SectionNames()) headers.push_back(Header(known));
  Report(place, Text("unknown section ", thing,
                     suggestion.empty() ? "" : Text(": did you mean ", Header(suggestion), "?"),
                     " (allowed: ", Join(headers), ")"));
}

template <typename Target>
void Reader::ReadKey(const std::vector<Key<Target>>& keys, std::string_view section,
                     const std::string& prefix, const Entry& entry, Target& target) {
  const Key<Target>* key = FindKey(keys, entry.key);
  if (!key) {
    Report(entry.value.place, UnknownKey(entry.key, section, NamesOf(keys)));
    return;
  }
  std::string path = prefix + entry.key;
  set_[path] = entry.value.place;
  failed_.erase(path);
  if (Result<void> read = key->Read(entry.value, target); !read) {
    Report(entry.value.place,
           Text(entry.key, " = ", entry.value.written, ": ", read.error().message));
    failed_.insert(path);
  }
}

void Reader::ReadDocument(const Document& document) {
  for (const Entry& entry : document.loose) {
    if (FindSection(entry.key) || entry.key == kGroup) {
      Report(entry.value.place,
             Text(entry.key, " = ", entry.value.written, ": this is a section; write ",
                  Header(entry.key), " and its keys below it"));
    } else {
      Report(entry.value.place,
             Text("key ", Quoted(entry.key), " stands in no section", WhereItBelongs(entry.key)));
    }
  }
  for (const DocumentSection& section : document.sections) {
    if (section.name == kGroup) {
      ReadGroup(section);
    } else {
      ReadSection(section);
    }
  }
}

void Reader::ReadSection(const DocumentSection& written) {
  const Section* section = FindSection(written.name);
  if (!section) {
    std::string thing = written.repeated ? Text("[[", written.name, "]]") : Header(written.name);
    ReportUnknownSection(written.name, written.place, thing);
    return;
  }
  if (written.repeated) {
    Report(written.place,
           Text("[[", written.name, "]] is no list: write it once, as ", Header(written.name)));
    return;
  }
  for (const Entry& entry : written.entries) {
    ReadKey(section->keys, section->name, Text(section->name, "."), entry, draft_);
  }
}

void Reader::ReadGroup(const DocumentSection& written) {
  if (!written.repeated) {
    Report(written.place, "[group] is a list: write [[group]], once for each group");
    return;
  }
  GroupDraft group;
  std::string name;
  for (const Entry& entry : written.entries) {
    if (entry.key == "name" && entry.value.text()) name = *entry.value.text();
  }
  for (const Entry& entry : written.entries) {
    ReadKey(GroupKeys(), kGroup, Text(kGroup, ".", name, "."), entry, group);
  }
  bool named = std::any_of(written.entries.begin(), written.entries.end(),
                           [](const Entry& entry) { return entry.key == "name"; });
  if (!named) Report(written.place, "a [[group]] needs a name, e.g. name = \"fast\"");
  draft_.groups.push_back(std::move(group));
}

// A policy from the command line wins over all that the file says of one: also over the protocol,
// weighting and trigger that a resolved file (FormatConfig) names beside its policy. Those of the
// same command line are read later and still win over it.
void Reader::GiveWay(std::span<const Assignment> assignments) {
  bool policy = false, parts = false;
  for (const Assignment& each : assignments) {
    const Value value = ScanValue(each.value, {});
    // "custom" says nothing by itself: its parts may be the file's.
    const bool custom = value.text() != nullptr && *value.text() == policy::kCustomPolicy;
    if (each.key == kPolicy) policy = !custom;
    for (const policy::Kind& kind : policy::Kinds()) {
      parts = parts || (kind.named && each.key == Text("federation.", kind.key));
    }
  }
  if (!policy && !parts) return;
  // Whoever names all of these is a resolved file. What its protocol has by default is no choice of
  // the user's, and another protocol has another.
  if (draft_.policy && NamesAllParts()) {
    const federation::Policy its = ResolvePolicy(draft_);
    if (draft_.proximal == DefaultProximal(*its.protocol)) {
      draft_.proximal.reset();
      set_.erase("training.proximal");
    }
    if (its.aggregator->name == its.protocol->aggregator) DropPart(kAggregator);
  }
  if (!policy) return;
  for (const policy::Kind& kind : policy::Kinds()) {
    if (kind.named) DropPart(kind.key);
  }
}

bool Reader::NamesAllParts() const {
  for (size_t i = 0; i < draft_.parts.size(); ++i) {
    if (policy::Kinds()[i].named && !draft_.parts[i]) return false;
  }
  return true;
}

void Reader::DropPart(std::string_view kind) {
  for (size_t i = 0; i < draft_.parts.size(); ++i) {
    if (policy::Kinds()[i].key == kind) draft_.parts[i].reset();
  }
  set_.erase(Text("federation.", kind));
}

void Reader::Assign(std::span<const Assignment> assignments) {
  GiveWay(assignments);
  for (const Assignment& assignment : assignments) Assign(assignment);
}

void Reader::Assign(const Assignment& assignment) {
  Place place;
  place.text = assignment.origin;
  // A file is UTF-8 by its form; the command line can be anything, and a record of it could not be.
  if (!IsUtf8(assignment.key) || !IsUtf8(assignment.value)) {
    place.text = Escaped(assignment.origin);
    Report(place, Text(Escaped(assignment.key), " = \"", Escaped(assignment.value),
                       "\": must be text in UTF-8; a file with such a name: rename it, or link to "
                       "it"));
    return;
  }
  Value value = ScanValue(assignment.value, place);
  std::string_view path = assignment.key;
  size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    std::vector<std::string> paths;
    for (const Section& section : Sections()) {
      if (FindKey(section.keys, path)) paths.push_back(Text(section.name, ".", path));
    }
    Report(place, Text(Quoted(path), " names no section: ",
                       paths.empty() ? "write section.key, e.g. federation.learners"
                                     : Text("did you mean ", Join(paths, " or "), "?")));
    return;
  }
  std::string_view name = path.substr(0, dot);
  if (name == kGroup) {
    AssignGroupKey(path.substr(dot + 1), value);
  } else if (const Section* section = FindSection(name)) {
    ReadKey(section->keys, name, Text(name, "."), {std::string(path.substr(dot + 1)), value},
            draft_);
  } else {
    ReportUnknownSection(name, place, Quoted(name));
  }
}

void Reader::AssignGroupKey(std::string_view path, const Value& value) {
  size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    Report(value.place, "a key of a group is written group.NAME.key, e.g. group.slow.batch_time");
    return;
  }
  std::string_view name = path.substr(0, dot);
  if (draft_.groups.empty()) draft_.groups = DefaultGroups();
  std::vector<std::string> names;
  for (GroupDraft& group : draft_.groups) {
    names.push_back(group.device.name);
    if (group.device.name != name) continue;
    ReadKey(GroupKeys(), kGroup, Text(kGroup, ".", name, "."),
            {std::string(path.substr(dot + 1)), value}, group);
    return;
  }
  Report(value.place, Text("there is no group ", Quoted(name), DidYouMean(": ", name, names),
                           " (groups: ", Join(names), ")"));
}

std::vector<Conflict> Reader::Conflicts(const Config& config) const {
  std::vector<Conflict> conflicts = FindConflicts(config);
  if (draft_.policy == policy::kCustomPolicy && !NamesAllParts()) {
    conflicts.push_back(
        {{"federation.policy"}, "policy = \"custom\": set protocol, weighting and trigger, too"});
  }
  return conflicts;
}

Place Reader::PlaceOf(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (auto found = set_.find(key); found != set_.end()) return found->second;
  }
  return {.text = source_name_, .line = 0};
}

Result<Config> Reader::Finish() {
  Config config = Resolve(draft_);
  for (const Conflict& conflict : Conflicts(config)) {
    // A value that could not be read says nothing about how keys fit together.
    bool unknown = std::any_of(conflict.keys.begin(), conflict.keys.end(),
                               [&](const std::string& key) { return failed_.contains(key); });
    if (!unknown) Report(PlaceOf(conflict.keys), conflict.message);
  }
  if (problems_.empty()) return config;
  std::stable_sort(problems_.begin(), problems_.end(),
                   [](const Problem& a, const Problem& b) { return a.place.line < b.place.line; });
  std::vector<std::string> lines;
  for (const Problem& problem : problems_) {
    lines.push_back(Text(problem.place.text, ": ", problem.message));
  }
  return Invalid(Join(lines, "\n"));
}

}  // namespace metis::config
