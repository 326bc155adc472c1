// A directory of its own for each test that needs files. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "metis/core/check.h"

namespace metis {

// Removed with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "metis_test_XXXXXX").string();
    const char* made = ::mkdtemp(pattern.data());
    METIS_CHECK(made != nullptr);
    path_ = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class FileTest : public testing::Test {
 protected:
  std::string Path(std::string_view name) const { return directory_ / name; }
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace metis
