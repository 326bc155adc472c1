// The configuration of a run: one TOML file becomes the checked settings of every layer.
// Reading reports every mistake it finds, one a line, each with its place, its value and the way
// out:
//
//   federation.toml:7: policy = "asinc": must be one of "sync-fedavg", ...; did you mean
//   "async-dvw"?
//
// All keys stand in one table (keys.cc): parsing, checking, the template and the reference page
// come from it. Pure functions over values; only ReadConfig() touches the disk.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "metis/core/result.h"
#include "metis/dashboard/settings.h"
#include "metis/data/partition.h"
#include "metis/data/source.h"
#include "metis/federation/settings.h"
#include "metis/learner/settings.h"
#include "metis/rpc/settings.h"
#include "metis/sim/settings.h"
#include "metis/store/settings.h"

namespace metis::config {

struct Document;

struct Config {
  federation::Settings federation;
  learner::TrainingSettings training;
  data::SourceSettings source;
  data::PartitionSettings data;
  sim::Settings simulation;
  rpc::NetworkSettings network;
  store::StorageSettings storage;
  dashboard::DashboardSettings dashboard;

  friend bool operator==(const Config&, const Config&) = default;
};

// A value from the command line, which wins over the file. It is checked like the file, together
// with the file: a default that depends on other keys (stop.duration, training.proximal, ...) sees
// both. A named policy wins over the file's protocol, weighting and trigger, too: so a resolved
// file runs under another policy.
struct Assignment {
  std::string key;     // "section.key", or "group.NAME.key" for a group of that name
  std::string value;   // 30s, "30s", 4, 0.5, true
  std::string origin;  // what the user typed, for messages: "--rounds"
};

// Reads "section.key=value" (of a `--set` option).
Result<Assignment> ParseAssignment(std::string_view text);

// kNotFound: there is no such file. kUnavailable: it can't be read. kInvalid: its contents are
// wrong.
Result<Config> ReadConfig(const std::string& path, std::span<const Assignment> overrides = {});
// `source_name` stands for the file in messages. Empty text gives the defaults.
Result<Config> ParseConfig(std::string_view text, std::string_view source_name,
                           std::span<const Assignment> overrides = {});
// The same of what another kind of file holds of a configuration (document.h).
Result<Config> ParseConfig(const Document& document, std::string_view source_name,
                           std::span<const Assignment> overrides = {});
// What an empty file says.
Config DefaultConfig();

// Every key with its value, as TOML that ParseConfig() reads back to an equal Config.
std::string FormatConfig(const Config& config);
// The value of one key in words: ValueOf(config, "federation.protocol") is "asynchronous". The key
// must exist.
std::string ValueOf(const Config& config, std::string_view key);

// A commented file to start from; it parses to the defaults.
std::string FormatTemplate();
// Every key, as the Markdown of docs/configuration.md and as text for a terminal.
std::string FormatReference();
std::string FormatKeyHelp();

}  // namespace metis::config
