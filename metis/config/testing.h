// What the tests of configurations share: text that is read, and what is wrong with it. For tests
// only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "metis/config/config.h"

namespace metis::config {

inline constexpr const char* kFile = "federation.toml";

// What is wrong with `text`; "" if nothing is.
inline std::string Complaint(std::string_view text, const std::vector<Assignment>& overrides = {}) {
  Result<Config> config = ParseConfig(text, kFile, overrides);
  return config ? "" : config.error().message;
}

inline Config Parsed(std::string_view text, const std::vector<Assignment>& overrides = {}) {
  Result<Config> config = ParseConfig(text, kFile, overrides);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return config ? *config : Config();
}

inline Assignment Set(std::string_view text) { return ParseAssignment(text).value(); }

}  // namespace metis::config
