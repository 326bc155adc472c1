// What tests of files and logs share: both damaged on purpose. For tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "metis/core/testing.h"
#include "metis/federation/testing.h"
#include "metis/store/blob_store.h"

namespace metis::store {

inline std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void PutBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Every file below that is not empty, with its content.
inline std::map<std::string, std::string> AllFiles(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && entry.file_size() > 0) files[path] = BytesOf(path);
  }
  return files;
}

// Changes a log's database as any other program would.
inline void ExecuteSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* said = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &said), SQLITE_OK) << said;
  sqlite3_close(database);
}

// As long as it lives, no file of this process may grow beyond so many bytes: a full disk, for
// those who write.
class FullDisk {
 public:
  explicit FullDisk(rlim_t most_bytes) : before_action_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = most_bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_action_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*before_action_)(int);
};

inline bool SameBits(const ModelPtr& a, const ModelPtr& b) {
  return a->size() == b->size() &&
         std::memcmp(a->bytes().data(), b->bytes().data(), a->bytes().size()) == 0;
}

// Of a snapshot that a log has told of.
inline ModelPtr ModelAt(const Archived& archived, size_t place) {
  return archived.read(archived.files.at(place)).value();
}

}  // namespace metis::store
