#include "metis/doctor/finding.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "metis/core/check.h"
#include "metis/core/display.h"
#include "metis/core/text.h"

namespace metis::doctor {
namespace {

constexpr std::string_view kVerdicts[] = {"ok", "warning", "failure"};
constexpr size_t kVerdictWidth = 9;
constexpr size_t kSubjectWidth = 13;

// {2} becomes the third value. A text that was put in is not looked at again.
std::string Fill(std::string_view form, const std::vector<std::string>& values) {
  std::string filled;
  for (size_t at = 0; at < form.size();) {
    size_t index = 0;
    const char* digits = form.data() + at + 1;
    const char* end = form.data() + form.size();
    const bool opens = form[at] == '{' && digits < end && *digits >= '0' && *digits <= '9';
    if (!opens) {
      filled.push_back(form[at++]);
      continue;
    }
    const auto [stopped, error] = std::from_chars(digits, end, index);
    METIS_CHECK(error == std::errc() && stopped != end && *stopped == '}');
    METIS_CHECK_MSG(index < values.size(), std::string(form));
    filled += values[index];
    at = static_cast<size_t>(stopped - form.data()) + 1;
  }
  return filled;
}

void AppendBelow(std::string& out, const std::string& text, std::string_view indent) {
  for (const char c : text) {
    out.push_back(c);
    if (c == '\n') out += indent;
  }
  out.push_back('\n');
}

size_t Count(const Findings& findings, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [verdict](const Finding& each) { return each.verdict == verdict; }));
}

std::string Counted(size_t number, std::string_view one, std::string_view several) {
  return Text(number, " ", number == 1 ? one : several);
}

}  // namespace

std::string_view NameOf(Verdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

Finding Say(std::string_view id, const std::vector<std::string>& values) {
  const std::span<const Message> all = Messages();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Message& each) { return each.id == id; });
  METIS_CHECK_MSG(found != all.end(), std::string(id));
  return {std::string(id), found->verdict, PrintableLines(Fill(found->what, values)),
          PrintableLines(Fill(found->means, values)), PrintableLines(Fill(found->todo, values))};
}

std::string FormatFindings(const Findings& findings) {
  const std::string indent(kVerdictWidth + kSubjectWidth, ' ');
  std::string out;
  for (const Finding& finding : findings) {
    std::string head(NameOf(finding.verdict));
    head.resize(kVerdictWidth, ' ');
    head += finding.subject();
    head.resize(std::max(head.size() + 1, indent.size()), ' ');
    out += head;
    AppendBelow(out, finding.what, indent);
    for (const std::string* text : {&finding.means, &finding.todo}) {
      if (text->empty()) continue;
      out += indent;
      AppendBelow(out, *text, indent);
    }
  }
  out += Text(Counted(Count(findings, Verdict::kFailure), "failure", "failures"), ", ",
              Counted(Count(findings, Verdict::kWarning), "warning", "warnings"), ", ",
              Count(findings, Verdict::kOk), " ok\n");
  return out;
}

std::string FormatFindingsJson(const Findings& findings) {
  nlohmann::ordered_json document;
  document["failures"] = Count(findings, Verdict::kFailure);
  document["warnings"] = Count(findings, Verdict::kWarning);
  document["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json line;
    line["id"] = finding.id;
    line["verdict"] = NameOf(finding.verdict);
    line["what"] = finding.what;
    line["means"] = finding.means;
    line["todo"] = finding.todo;
    document["findings"].push_back(std::move(line));
  }
  // A peer's words may be no UTF-8.
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool AnyFailure(const Findings& findings) { return Count(findings, Verdict::kFailure) > 0; }

}  // namespace metis::doctor
