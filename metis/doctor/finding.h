// What `metis doctor` found out: one finding a line, with what it means and what to do. All that
// it can ever say stands in one table (messages.cc); a test provokes every line of it. Values and
// pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace metis::doctor {

enum class Verdict { kOk, kWarning, kFailure };
std::string_view NameOf(Verdict verdict);  // "ok", "warning", "failure"

// A line of the table. {0}, {1}, ... stand for values.
struct Message {
  std::string_view id;  // "SUBJECT.WORD"
  Verdict verdict = Verdict::kOk;
  std::string_view what;
  std::string_view means;  // of a warning or a failure: what comes of it
  std::string_view todo;   // the way out
};
std::span<const Message> Messages();

struct Finding {
  std::string id;
  Verdict verdict = Verdict::kOk;
  std::string what;
  std::string means;
  std::string todo;

  std::string subject() const { return id.substr(0, id.find('.')); }
};
using Findings = std::vector<Finding>;

// The message of that id with its values; an id or a value that the table lacks is our fault.
Finding Say(std::string_view id, const std::vector<std::string>& values = {});

// For a terminal: verdict, subject, words, each continued below itself; then a line that counts.
std::string FormatFindings(const Findings& findings);
// {"failures": 1, "warnings": 0, "findings": [{"id", "verdict", "what", "means", "todo"}, ...]}
std::string FormatFindingsJson(const Findings& findings);

bool AnyFailure(const Findings& findings);

}  // namespace metis::doctor
