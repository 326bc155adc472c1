#include "apps/status_view.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "apps/cli.h"
#include "apps/table.h"
#include "metis/core/text.h"

namespace metis::apps {
namespace {

using operations::ParticipantStatus;
using operations::Status;

constexpr size_t kEventsShown = 8;

std::string Number(const std::optional<uint64_t>& value) { return value ? Text(*value) : "-"; }

std::string Plural(uint64_t count, const char* one, const char* many) {
  return Text(count, " ", count == 1 ? one : many);
}

// 1234 is "1234", 0.0123 is "0.0123": four digits that count.
std::string Contribution(double value) {
  if (value == 0) return "-";
  return value >= 100 ? Fixed(value, 0) : Fixed(value, 4);
}

void PrintWhat(std::ostream& out, const Status& status) {
  const std::string phase = status.phase.empty() ? "not running" : status.phase;
  out << Printable(phase);
  if (!status.phase_reason.empty()) out << ": " << Printable(status.phase_reason);
  out << "\n";
  std::vector<std::string> parts;
  if (!status.policy.empty()) parts.push_back(status.policy);
  if (!status.dataset.empty()) parts.push_back(status.dataset);
  if (!status.model.empty()) {
    parts.push_back(Text(status.model, " (", status.parameters, " parameters)"));
  }
  if (!status.federation.empty()) parts.push_back(Text("federation ", status.federation));
  if (!status.run.empty()) parts.push_back(status.run);
  out << Printable(Join(parts)) << "\n\n";
}

void PrintProgress(std::ostream& out, const Status& status) {
  Table table({{""}, {""}});
  std::string version =
      Text(status.version, " after ", Plural(status.requests, "update", "updates"), " (",
           Fixed(status.requests_per_minute, 1), " a minute)");
  if (status.pending > 0) version += Text(", ", status.pending, " pending");
  if (status.rejected > 0) version += Text(", ", status.rejected, " rejected");
  if (status.withdrawals > 0) {
    version += Text(", ", Plural(status.withdrawals, "withdrawal", "withdrawals"));
  }
  table.AddRow({"version", version});
  if (status.best) {
    std::string accuracy =
        Text("best ", Fixed(status.best->accuracy, 4), " at version ", status.best->version);
    if (!status.tests.empty()) {
      accuracy += Text(", latest ", Fixed(status.tests.back().accuracy, 4), " at version ",
                       status.tests.back().version);
    }
    table.AddRow({"accuracy", accuracy});
  }
  std::string time = FormatSeconds(status.time_s);
  if (status.part > 0) time += Text(", ", Fixed(100 * status.part, 1), " % of the way");
  if (status.uptime_s > 0) time += Text("; this process runs for ", FormatSeconds(status.uptime_s));
  table.AddRow({"time", time});
  if (status.memory_bytes > 0) {
    table.AddRow({"cost", Text(FormatBytes(status.memory_bytes), " of memory, ",
                               FormatBytes(status.bytes_received), " received, ",
                               FormatBytes(status.bytes_sent), " sent")});
  }
  if (status.refusals > 0 || status.dropped_events > 0) {
    std::string trouble =
        Plural(status.refusals, "refusal (audit.jsonl)", "refusals (audit.jsonl)");
    if (status.dropped_events > 0) {
      trouble += Text(", ", Plural(status.dropped_events, "event", "events"),
                      " dropped because the disk refused");
    }
    table.AddRow({"trouble", trouble});
  }
  table.Print(out);
}

void PrintParticipants(std::ostream& out, const Status& status, bool styled) {
  if (status.participants.empty()) {
    out << "\nnobody has joined yet\n";
    return;
  }
  Table table({{"participant"},
               {"state"},
               {"version", Align::kRight},
               {"staleness", Align::kRight},
               {"p_k", Align::kRight},
               {"share", Align::kRight},
               {"updates", Align::kRight},
               {"a minute", Align::kRight},
               {"rejected", Align::kRight},
               {"epochs", Align::kRight},
               {"seen", Align::kRight},
               {"address"}});
  for (const ParticipantStatus& each : status.participants) {
    const bool learns = each.role != "observer";
    table.AddRow(
        {Printable(learns ? each.name : Text(each.name, " (", each.role, ")")),
         Printable(each.state), Number(each.version), Number(each.staleness),
         Contribution(each.contribution), learns ? Text(Fixed(100 * each.share, 1), " %") : "-",
         learns ? Text(each.updates) : "-", learns ? Fixed(each.updates_per_minute, 1) : "-",
         learns ? Text(each.rejected) : "-", learns ? Text(each.epochs) : "-",
         each.last_seen_s ? Text(FormatSeconds(*each.last_seen_s), " ago") : "-",
         Printable(each.address)});
  }
  out << "\n";
  table.Print(out, styled);
}

}  // namespace

void PrintStatus(std::ostream& out, const Status& status, bool styled) {
  PrintWhat(out, status);
  PrintProgress(out, status);
  PrintParticipants(out, status, styled);
  if (status.events.empty()) return;
  out << "\n";
  const size_t first = status.events.size() - std::min(status.events.size(), kEventsShown);
  Table events({{"", Align::kRight}, {""}});
  for (size_t i = first; i < status.events.size(); ++i) {
    events.AddRow({FormatSeconds(status.events[i].time_s), Printable(status.events[i].text)});
  }
  events.Print(out);
}

}  // namespace metis::apps
