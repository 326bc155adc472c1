// The word of an enumerator. An enumeration has words if there is a function EnumNames() beside it,
// which returns them in the order of its values; record, snapshot and wire use the same ones. Pure:
// any thread may call it.
//
//   enum class Phase { kWaiting, kRunning };
//   constexpr auto EnumNames(Phase) {
//     return std::array<std::string_view, 2>{"waiting", "running"};
//   }
//   NameOf(Phase::kRunning)  // "running"
#pragma once

#include <cstddef>
#include <string_view>

namespace metis {

template <typename Enum>
requires requires { EnumNames(Enum{}); }
constexpr std::string_view NameOf(Enum value) {
  constexpr auto kNames = EnumNames(Enum{});
  // Copies of literals: what is returned outlives kNames.
  return kNames[static_cast<size_t>(value)];
}

}  // namespace metis
