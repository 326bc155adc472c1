// `metis export`: the community model of a controller as a file.
#pragma once

#include <string>

#include "metis/core/result.h"
#include "metis/rpc/operator_client.h"

namespace metis::apps {

struct ExportOptions {
  std::string out;  // NAME.metis, or NAME.pt, which the program metis-model writes
  bool best = false;
  bool force = false;
};

// Before anything is fetched: the name has one of the endings and is free.
Result<void> CheckExport(const ExportOptions& options);

// What was written, in words.
Result<std::string> ExportLive(rpc::OperatorClient& client, const ExportOptions& options);
// Of a controller that is not running: the file that it kept.
Result<std::string> ExportKept(const std::string& run, const ExportOptions& options);

}  // namespace metis::apps
