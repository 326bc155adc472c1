#include "metis/report/replay.h"

#include <deque>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::report {

namespace {

// A summary that is there is the run's own: one that does not say how the run ended was damaged.
Result<void> CompareEnd(const Json& summary, const Replayed& replayed, uint64_t lines) {
  const auto hash = summary.find("state_hash");
  const auto version = summary.find("version");
  const bool whole = hash != summary.end() && hash->is_string() && version != summary.end() &&
                     version->is_number_unsigned();
  if (!whole) {
    const auto shown = [&](const auto& found) {
      return found == summary.end() ? std::string("missing") : found->dump();
    };
    return Invalid(Text(kSummaryFile, " is damaged: its state_hash is ", shown(hash),
                        " and its version ", shown(version),
                        ": restore it from a copy, or remove it to replay without comparing the "
                        "end"));
  }
  const bool same_state = *hash == replayed.state_hash;
  if (same_state && *version == replayed.version) return {};
  return Invalid(Text("the replay of all ", lines, " lines of ", kEventsFile, " ends at version ",
                      replayed.version, " and state ", replayed.state_hash, ", the run ended at ",
                      "version ", version->dump(), " and state ", hash->dump(), " (", kSummaryFile,
                      same_state ? "): was the summary changed? Restore it from a copy"
                                 : "): was the record shortened?"));
}

}  // namespace

Result<Replayed> Replay(RunReader& run, const federation::Settings& settings) {
  federation::MemoryModelStore store;
  federation::Controller controller(settings, run.initial(), run.pool(), store);
  Replayed replayed;
  std::deque<Json> expected;  // notes that the latest event caused and the record must show next
  Instant latest;             // of that event; drivers' clocks begin at 0 and never go back
  for (;;) {
    Result<RunReader::Line> line = run.Next();
    if (!line) return line.error();
    auto differs = [&](const std::string& what) {
      return Invalid(Text("line ", run.line_number(), " of ", kEventsFile, ": ", what));
    };
    if (const auto* note = std::get_if<RunReader::Note>(&line->content)) {
      ++replayed.notes;
      if (expected.empty()) return differs("the replay makes no note here");
      if (expected.front() != note->line) {
        return differs(
            Text("recorded ", note->line.dump(), ", replayed ", expected.front().dump()));
      }
      if (line->time != latest) {
        return differs(Text("the note's t_ns is ", line->time.nanoseconds(), ", its event's is ",
                            latest.nanoseconds(),
                            ", and both are written with the same: was the record changed? "
                            "Restore it from a copy"));
      }
      expected.pop_front();
      continue;
    }
    const auto* event = std::get_if<federation::Event>(&line->content);
    if (event == nullptr && run.summary().is_null())
      break;  // cut off, perhaps before its last notes
    if (!expected.empty()) {
      return differs(Text("the replay makes the note ", expected.front().dump(), " before this"));
    }
    if (event == nullptr) break;
    if (line->time < latest) {
      return differs(Text("the event's t_ns is ", line->time.nanoseconds(),
                          ", before that of the event before it, ", latest.nanoseconds(),
                          ": was the record changed? Restore it from a copy"));
    }
    latest = line->time;
    ++replayed.events;
    std::vector<federation::Action> actions;
    controller.Handle(line->time, *event, actions);
    for (const federation::Action& action : actions) {
      if (Json note = NoteLine(action); !note.is_null()) expected.push_back(std::move(note));
    }
  }
  Result<ModelPtr> definition = controller.aggregator().Recompute();
  if (!definition) return definition.error();
  if ((*definition)->Fingerprint() != controller.aggregator().Current()->Fingerprint()) {
    return Invalid(Text("after line ", run.line_number(),
                        " the community model is not the mean of ",
                        "the learners' latest models: this is a defect of the controller"));
  }
  replayed.recomputed = controller.Withdrawable().ok();
  replayed.version = controller.version().value();
  replayed.state_hash = Hex(controller.StateHash());
  replayed.against_summary = !run.summary().is_null();
  if (!replayed.against_summary) return replayed;
  Result<void> same = CompareEnd(run.summary(), replayed, run.line_number());
  if (!same) return same.error();
  return replayed;
}

}  // namespace metis::report
