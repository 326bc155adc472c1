#include "metis/report/page.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "metis/core/text.h"

namespace metis::report {

namespace fs = std::filesystem;

namespace {

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

Result<size_t> PlaceOf(std::string_view marker, std::string_view page) {
  const size_t place = page.find(marker);
  if (place == page.npos) return Invalid(Text("the page has no ", marker));
  if (page.find(marker, place + marker.size()) != page.npos) {
    return Invalid(Text("the page has ", marker, " more than once"));
  }
  return place;
}

}  // namespace

std::string ScriptSafe(const Json& data) {
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i, 3);
    if (json[i] == '<') {  // in JSON, within texts only
      out += "\\u003c";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      out += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

Result<std::string> FillPage(std::string_view page, std::string_view title, const Json& data) {
  // Both places first: the title may contain the other marker.
  Result<size_t> title_place = PlaceOf(kTitleMarker, page);
  if (!title_place) return title_place.error();
  Result<size_t> data_place = PlaceOf(kDataMarker, page);
  if (!data_place) return data_place.error();
  const std::string shown = EscapeHtml(title), script = ScriptSafe(data);
  std::string out(page);
  auto replace_title = [&] { out.replace(*title_place, kTitleMarker.size(), shown); };
  if (*title_place > *data_place) replace_title();  // from the end, so that places stay right
  out.replace(*data_place, kDataMarker.size(), script);
  if (*title_place < *data_place) replace_title();
  return out;
}

Result<void> WritePage(const std::string& path, std::string_view page) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return Invalid(Text("--out ", path, " is a directory: name a file, such as ",
                        (fs::path(path) / "report.html").string()));
  }
  const std::string ending = fs::path(path).extension().string();
  if (ending != ".html" && ending != ".htm") {
    return Invalid(Text("--out ", path, ": the page is HTML, its name must end in .html"));
  }
  const std::string part = Text(path, ".part", ::getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << page;
  file.close();
  if (!file || ::rename(part.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    fs::remove(part, error);
    return Unavailable(Text("cannot write ", path, ": ", why));
  }
  return {};
}

}  // namespace metis::report
