#include "metis/report/light_reader.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "metis/core/text.h"
#include "metis/report/json_archive.h"
#include "metis/report/record_lines.h"

namespace metis::report {
namespace {

struct Heading {
  Instant time;
  std::string name;  // of the event or note
  bool is_event = false;
};

// What the writer puts first: {"t_ns":123,"event":"counts", ... Lines of another form are left to
// the parser.
std::optional<Heading> Glance(std::string_view line) {
  constexpr std::string_view kTime = "{\"t_ns\":";
  if (!line.starts_with(kTime)) return std::nullopt;
  int64_t nanoseconds = 0;
  const char* end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(line.data() + kTime.size(), end, nanoseconds);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(rest - line.data()));
  for (std::string_view word : {",\"event\":\"", ",\"note\":\""}) {
    if (!line.starts_with(word)) continue;
    line.remove_prefix(word.size());
    const size_t quote = line.find('"');
    if (quote == line.npos) return std::nullopt;
    return Heading{Instant::FromNanoseconds(nanoseconds), std::string(line.substr(0, quote)),
                   word.starts_with(",\"event")};
  }
  return std::nullopt;
}

Result<Heading> HeadingOf(const TimedLine& line) {
  for (const char* word : {"event", "note"}) {
    const auto name = line.json.find(word);
    if (name == line.json.end() || !name->is_string()) continue;
    return Heading{line.time, name->get<std::string>(), std::string_view(word) == "event"};
  }
  return Invalid("neither an event nor a note");
}

class LineTeller {
 public:
  explicit LineTeller(drivers::Recorder& listener) : listener_(listener) {}

  // Whether lines of this name are told.
  static bool Wants(std::string_view name) {
    for (std::string_view wanted :
         {"joined", "update", "tested", "committed", "rejected", "counts-refused", "finished"}) {
      if (name == wanted) return true;
    }
    return false;
  }

  Result<void> Tell(const Heading& line, const Json& json) {
    if (line.name == "joined") return Event<federation::LearnerJoined>(line.time, json);
    if (line.name == "update") return Event<federation::UpdateReceived>(line.time, json);
    if (line.name == "tested") return Event<federation::CommunityTested>(line.time, json);
    if (line.name == "committed") return Note<federation::CommunityCommitted>(line.time, json);
    if (line.name == "rejected") return Note<federation::RejectUpdate>(line.time, json);
    if (line.name == "counts-refused") return Note<federation::RefuseCounts>(line.time, json);
    return Note<federation::Finished>(line.time, json);
  }

 private:
  template <typename T>
  static Result<T> Parse(const Json& json) {
    static const JsonReader::FindModel kNone = [](const Json&) -> Result<ModelPtr> {
      return ModelPtr();
    };
    T content;
    JsonReader fields(json, kNone);
    Fields(fields, content);
    if (Result<void> read = fields.Finish(); !read) return read.error();
    return content;
  }
  template <typename T>
  Result<void> Event(Instant time, const Json& json) {
    Result<T> event = Parse<T>(json);
    if (!event) return event.error();
    listener_.Event(time, *std::move(event));
    return {};
  }
  template <typename T>
  Result<void> Note(Instant time, const Json& json) {
    Result<T> note = Parse<T>(json);
    if (!note) return note.error();
    listener_.Action(time, *std::move(note));
    return {};
  }

  drivers::Recorder& listener_;
};

// False, and nothing is told, where the line is the event that is one too many.
Result<bool> ReadLine(const std::string& text, uint64_t most_events, LineTeller& teller,
                      LightRead& read) {
  std::optional<Heading> heading = Glance(text);
  Json json;
  if (!heading || LineTeller::Wants(heading->name)) {
    Result<TimedLine> line = ParseTimedLine(text);
    if (!line) return line.error();
    Result<Heading> parsed = HeadingOf(*line);
    if (!parsed) return parsed.error();
    heading = *std::move(parsed);
    json = std::move(line->json);
  }
  if (heading->is_event && read.events == most_events) return false;
  if (heading->is_event) ++read.events;
  read.last = heading->time;
  read.bytes += text.size() + 1;
  if (LineTeller::Wants(heading->name)) {
    if (Result<void> told = teller.Tell(*heading, json); !told) return told.error();
  } else {
    ++read.skipped[heading->name];
  }
  return true;
}

}  // namespace

Result<LightRead> ReadLightly(const std::filesystem::path& events, drivers::Recorder& listener,
                              uint64_t most_events) {
  Result<RecordLines> lines = RecordLines::Open(events);
  if (!lines) return lines.error();
  LineTeller teller(listener);
  LightRead read;
  for (;;) {
    Result<const std::string*> text = lines->Next();
    if (!text) return text.error();
    if (*text == nullptr) break;
    Result<bool> more = ReadLine(**text, most_events, teller, read);
    if (!more) return lines->Here(more.error());
    if (!*more) break;
  }
  read.torn = lines->torn();
  return read;
}

Result<uint64_t> CountEvents(const std::filesystem::path& events) {
  Result<RecordLines> lines = RecordLines::Open(events);
  if (!lines) return lines.error();
  for (uint64_t count = 0;;) {
    Result<const std::string*> text = lines->Next();
    if (!text) return text.error();
    if (*text == nullptr) return count;
    const std::optional<Heading> heading = Glance(**text);
    if (heading && heading->is_event) ++count;
  }
}

}  // namespace metis::report
