// Work that a run has done, kept in a file as the run goes: what epochs and evaluations came to,
// and the models of updates. A run that was cut off begins again at its start, finds here what it
// had computed, and so arrives where it was within seconds, with the same bits. Results are keyed
// by what determines them; their order does not matter.
//
//   header  "metis work 2\n", the identity's length (4 bytes), the identity
//   record  payload's length (8), key (37), payload, XXH3 of key and payload (8); little-endian
//
// Of a file that ends in the middle of a record the whole ones count. Any thread may use it.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/work/work.h"

namespace metis::work {

class WorkJournal {
 public:
  // Begins a file, in place of one that is there. `identity` says whose work it is.
  static Result<std::unique_ptr<WorkJournal>> Create(const std::string& path,
                                                     std::string_view identity);
  // Opens one to go on with it; what follows its last whole record is cut off.
  static Result<std::unique_ptr<WorkJournal>> Open(const std::string& path);

  const std::string& identity() const { return identity_; }
  size_t found() const { return places_.size(); }  // records when it was opened

  // Of records that were there when the file was opened.
  std::optional<std::string> Find(const WorkKey& key);
  // A full disk ends the keeping, not the run: see failure().
  void Keep(const WorkKey& key, std::string_view payload);
  std::optional<Error> failure();

 private:
  struct Place {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  WorkJournal(std::string path, std::string identity)
      : path_(std::move(path)), identity_(std::move(identity)) {}
  // Fills places_; the end of the last whole record.
  uint64_t Scan(uint64_t size);

  // Constant after creation.
  const std::string path_;
  const std::string identity_;
  std::map<WorkKey, Place> places_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::ifstream in_;
  std::ofstream out_;
  std::optional<Error> failure_;
};

}  // namespace metis::work
