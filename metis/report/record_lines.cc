#include "metis/report/record_lines.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "metis/core/text.h"

namespace metis::report {

RecordLines::RecordLines(std::filesystem::path path)
    : path_(std::move(path)), file_(path_, std::ios::binary) {}

Result<RecordLines> RecordLines::Open(const std::filesystem::path& path) {
  RecordLines lines(path);
  if (!lines.file_)
    return NotFound(Text("cannot read ", path.string(), ": ", std::strerror(errno)));
  return lines;
}

Result<const std::string*> RecordLines::Next() {
  const bool any = static_cast<bool>(std::getline(file_, text_));
  if (file_.bad()) return Unavailable(Text(path_.string(), " cannot be read to its end"));
  if (!any) return nullptr;
  torn_ = file_.eof();  // no end of line
  if (torn_) return nullptr;
  ++number_;
  return &text_;
}

Error RecordLines::Here(const Error& error) const {
  return error.In(Text(path_.string(), ":", number_));
}

Result<TimedLine> ParseTimedLine(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Invalid("no JSON object: is it cut off?");
  const auto time = json.find("t_ns");
  if (time == json.end() || !time->is_number_integer()) return Invalid("\"t_ns\" is missing");
  if (time->is_number_unsigned() && !std::in_range<int64_t>(time->get<uint64_t>())) {
    return Invalid(Text("\"t_ns\" is ", time->dump(), ", which is no time: is the line damaged?"));
  }
  const Instant instant = Instant::FromNanoseconds(time->get<int64_t>());
  return TimedLine{instant, std::move(json)};
}

}  // namespace metis::report
