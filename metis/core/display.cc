#include "metis/core/display.h"

#include <ctime>

#include "metis/core/text.h"

namespace metis {

std::string FormatBytes(uint64_t bytes) {
  auto amount = static_cast<double>(bytes);
  for (const char* unit : {"bytes", "kB", "MB"}) {
    if (amount < 1000) {
      return Text(Fixed(amount, amount < 10 && unit[0] != 'b' ? 1 : 0), " ", unit);
    }
    amount /= 1000;
  }
  return Text(Fixed(amount, amount < 100 ? 1 : 0), " GB");
}

std::string FormatUtc(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string FormatSeconds(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  if (seconds < 10) return Text(Fixed(seconds, 1), " s");
  if (seconds < kMinute) return Text(Fixed(seconds, 0), " s");
  if (seconds < kHour) return Text(Fixed(seconds / kMinute, 1), " min");
  if (seconds < kDay) return Text(Fixed(seconds / kHour, 1), " h");
  return Text(Fixed(seconds / kDay, 1), " d");
}

std::string Printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F, which some terminals obey too: two bytes.
    const bool high = byte == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;
    out += byte < 0x20 || byte == 0x7F || high ? '?' : text[i];
    if (high) ++i;
  }
  return out;
}

std::string PrintableLines(std::string_view text) {
  std::string out;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out += Printable(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return out + Printable(text);
}

}  // namespace metis
