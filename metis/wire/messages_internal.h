// Parts that messages of both directions hold.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "metis/core/result.h"
#include "metis/core/text.h"
#include "metis/federation/event.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::wire {

void Encode(const federation::UpdateId& id, v1::UpdateId* message);
federation::UpdateId Decode(const v1::UpdateId& message);

// A number of a peer as an enumerator with EnumNames(); `what` is what it numbers.
template <typename Enum>
Result<Enum> DecodeEnum(uint32_t number, std::string_view what) {
  constexpr size_t kCount = EnumNames(Enum{}).size();
  if (number < kCount) return static_cast<Enum>(number);
  return Invalid(Text(what, " ", number, " is unknown, 0 to ", kCount - 1,
                      " are known: is the peer newer than this program?"));
}

// The sub-message `field` of `message` is not there.
Error Missing(std::string_view message, std::string_view field);

}  // namespace metis::wire
