#include "metis/report/replay.h"

#include <deque>

#include "metis/core/fingerprint.h"
#include "metis/core/text.h"

namespace metis::report {

Result<Replayed> Replay(RunReader& run, const federation::Settings& settings) {
  federation::MemoryModelStore store;
  federation::Controller controller(settings, run.initial(), run.pool(), store);
  Replayed replayed;
  std::deque<Json> expected;  // notes that the latest event caused and the record must show next
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
    ++replayed.events;
    std::vector<federation::Action> actions;
    controller.Handle(line->time, *event, actions);
    for (const federation::Action& action : actions) {
      if (Json note = NoteLine(action); !note.is_null()) expected.push_back(std::move(note));
    }
  }
  Result<ModelPtr> definition = controller.protocol().Recompute();
  if (!definition) return definition.error();
  if ((*definition)->Fingerprint() != controller.protocol().Current()->Fingerprint()) {
    return Invalid(Text("after line ", run.line_number(),
                        " the community model is not the mean of ",
                        "the learners' latest models: this is a defect of the controller"));
  }
  replayed.recomputed = controller.protocol().Withdrawable().ok();
  replayed.version = controller.version().value();
  replayed.state_hash = Hex(controller.StateHash());
  replayed.against_summary =
      run.summary().contains("state_hash") && run.summary().contains("version");
  if (replayed.against_summary && run.summary()["state_hash"] != replayed.state_hash) {
    return Invalid(Text("the replay of all ", run.line_number(), " lines ends at version ",
                        replayed.version, " and state ", replayed.state_hash,
                        ", the run ended at version ", run.summary()["version"].dump(),
                        " and state ", run.summary()["state_hash"].dump(),
                        ": was the record shortened?"));
  }
  return replayed;
}

}  // namespace metis::report
