#include "metis/core/enum_name.h"

#include <gtest/gtest.h>

#include <array>

namespace metis::enum_name_test {
namespace {

enum class Fruit { kApple, kPear };
constexpr auto EnumNames(Fruit) { return std::array<std::string_view, 2>{"apple", "pear"}; }

TEST(EnumName, IsTheWordAtItsPlace) {
  EXPECT_EQ(NameOf(Fruit::kApple), "apple");
  EXPECT_EQ(NameOf(Fruit::kPear), "pear");
}

}  // namespace
}  // namespace metis::enum_name_test
