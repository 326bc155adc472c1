#include "metis/train/plain_pickle.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include "metis/core/text.h"

namespace metis::train {
namespace {

constexpr std::string_view kOrderedDict = "ccollections\nOrderedDict\n";
constexpr std::string_view kCall = ")R";  // with no arguments
constexpr char kEmptyDict = '}';
constexpr char kBuild = 'b';    // object, attributes
constexpr char kSetItem = 's';  // dict, key, value
constexpr char kPair = '\x86';
constexpr char kTriple = '\x87';
constexpr size_t kCutOff = std::string_view::npos;

// Of four bytes, the lowest first; kCutOff if they are not there.
size_t Length(std::string_view bytes) {
  uint32_t length = 0;
  if (bytes.size() < sizeof length) return kCutOff;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

// Bytes of the instruction that `rest` begins with, its operands included; 0 if it is unknown,
// kCutOff if its end cannot be told.
size_t InstructionSize(std::string_view rest) {
  constexpr std::string_view kAlone = "()]}tNRQbusae.\x81\x85\x86\x87\x88\x89";
  constexpr std::string_view kOneByte = "qhK\x80";
  constexpr std::string_view kFourBytes = "rjJ";
  const char code = rest.front();
  if (kAlone.find(code) != kAlone.npos) return 1;
  if (kOneByte.find(code) != kOneByte.npos) return 2;
  if (kFourBytes.find(code) != kFourBytes.npos) return 5;
  switch (code) {
    case 'M':
      return 3;
    case 'G':
      return 9;
    case 'X': {
      const size_t length = Length(rest.substr(1));
      return length == kCutOff ? kCutOff : 5 + length;
    }
    case '\x8a':
      return rest.size() < 2 ? kCutOff : size_t{2} + static_cast<unsigned char>(rest[1]);
    case 'c': {
      const size_t module = rest.find('\n');
      const size_t name = module == rest.npos ? module : rest.find('\n', module + 1);
      return name == rest.npos ? kCutOff : name + 1;
    }
    default:
      return 0;
  }
}

// The place in the memo that an instruction writes ('q', 'r') or reads ('h', 'j').
std::optional<size_t> Memo(std::string_view instruction, char short_code, char long_code) {
  if (instruction.front() == short_code) return static_cast<unsigned char>(instruction[1]);
  if (instruction.front() == long_code) return Length(instruction.substr(1));
  return std::nullopt;
}

Error Unexpected(size_t offset, std::string_view what) {
  return Invalid(Text("offset ", offset, " of its pickle: ", what));
}

}  // namespace

Result<std::string> PlainPickle(std::string_view pickle) {
  std::string out;
  std::optional<size_t> ordered_dict;  // where the memo has the class
  for (size_t at = 0; at < pickle.size();) {
    std::string_view rest = pickle.substr(at);
    size_t size = InstructionSize(rest);
    if (size == 0) return Unexpected(at, "an instruction that torch.save does not use by default");
    if (size > rest.size()) return Unexpected(at, "it is cut off");
    const std::string_view instruction = rest.substr(0, size);
    rest.remove_prefix(size);
    const bool names_class = instruction == kOrderedDict;
    const std::optional<size_t> read = Memo(instruction, 'h', 'j');
    if (names_class || (read && read == ordered_dict)) {
      out += kEmptyDict;
      const size_t put = names_class && !rest.empty() ? InstructionSize(rest) : 0;
      if (put > 0 && put <= rest.size()) {
        if (std::optional<size_t> written = Memo(rest.substr(0, put), 'q', 'r')) {
          ordered_dict = written;
          out += rest.substr(0, put);  // places in the memo are counted, so one is used up
          rest.remove_prefix(put);
          size += put;
        }
      }
      if (!rest.starts_with(kCall)) return Unexpected(at, "an OrderedDict that is not made empty");
      size += kCall.size();
    } else if (instruction.front() == kBuild) {
      out += kPair;
    } else if (instruction.front() == kSetItem) {
      out += kTriple;
    } else {
      out += instruction;
    }
    at += size;
  }
  return out;
}

}  // namespace metis::train
