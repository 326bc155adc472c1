// Turns a document and the command line's assignments into a Config, collecting every problem on
// the way.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metis/config/checks.h"
#include "metis/config/document.h"
#include "metis/config/draft.h"
#include "metis/config/keys.h"

namespace metis::config {

// Used once: ReadDocument(), then Assign(), then Finish().
class Reader {
 public:
  explicit Reader(std::string_view source_name) : source_name_(source_name) {}

  void ReadDocument(const Document& document);
  // A later assignment of the same key wins.
  void Assign(std::span<const Assignment> assignments);
  // The settings, or all problems, one a line: the file's by line, then the command line's.
  Result<Config> Finish();

 private:
  struct Problem {
    Place place;
    std::string message;
  };

  void Report(const Place& place, std::string message);
  void ReportUnknownSection(std::string_view name, const Place& place, std::string_view thing);
  void ReadSection(const DocumentSection& written);
  void ReadGroup(const DocumentSection& written);
  void GiveWay(std::span<const Assignment> assignments);
  // All that a named policy decides.
  bool NamesAllParts() const;
  // As if the file had not chosen a part of this kind.
  void DropPart(std::string_view kind);
  void Assign(const Assignment& assignment);
  void AssignGroupKey(std::string_view path, const Value& value);
  template <typename Target>
  void ReadKey(const std::vector<Key<Target>>& keys, std::string_view section,
               const std::string& prefix, const Entry& entry, Target& target);
  std::vector<Conflict> Conflicts(const Config& config) const;
  // Where the first of `keys` that was set was set.
  Place PlaceOf(const std::vector<std::string>& keys) const;

  std::string source_name_;
  Draft draft_;
  std::map<std::string, Place> set_;  // the keys that were set, by path
  std::set<std::string> failed_;      // those with a value that could not be read
  std::vector<Problem> problems_;
};

}  // namespace metis::config
