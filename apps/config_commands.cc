#include "apps/config_commands.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include "apps/cli.h"
#include "apps/table.h"
#include "metis/config/config.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::apps {
namespace {

std::optional<int> Parse(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"metis"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return ParseArguments(app, static_cast<int>(argv.size()), argv.data());
}

// Writes `text` to a new file, or over an old one if `force`.
int WriteFile(const std::string& path, const std::string& text, bool force) {
  std::FILE* file = std::fopen(path.c_str(), force ? "w" : "wx");
  if (file == nullptr && errno == EEXIST) {
    return Complain(Text(path, " exists already: choose another name, or replace it with --force"));
  }
  if (file == nullptr) {
    return Complain(Text(path, " can't be written: ", std::generic_category().message(errno)));
  }
  bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  written = std::fclose(file) == 0 && written;
  if (!written) {
    int error = errno;
    if (!force) std::remove(path.c_str());  // half of a file that was not there before
    errno = error;
    return Complain(Text(path, " can't be written: ", std::generic_category().message(errno)));
  }
  return kOk;
}

std::string StopInWords(const federation::StopSettings& stop) {
  std::vector<std::string> parts;
  if (stop.duration) parts.push_back(Text("after ", *stop.duration));
  if (stop.rounds) parts.push_back(Text("after ", *stop.rounds, " rounds"));
  if (stop.requests) parts.push_back(Text("after ", *stop.requests, " update requests"));
  if (stop.target_accuracy) parts.push_back(Text("at accuracy ", *stop.target_accuracy));
  if (stop.patience) parts.push_back(Text("after ", *stop.patience, " tests without a new best"));
  return Join(parts, ", or ");
}

std::string TestInWords(const federation::TestSettings& test) {
  std::vector<std::string> parts;
  if (test.every) parts.push_back(Text("every ", *test.every));
  if (test.every_commits) parts.push_back(Text("every ", *test.every_commits, " commits"));
  return Join(parts, " and ");
}

// The values of their own that groups have of the chosen parts, and only those.
std::vector<federation::PartKey> KeysOfGroups(const federation::Policy& policy) {
  std::vector<federation::PartKey> keys;
  for (const policy::Kind& kind : policy::Kinds()) {
    for (const federation::PartKey& key : kind.chosen(policy)->keys) {
      if (!key.column.empty()) keys.push_back(key);
    }
  }
  return keys;
}

std::string InWords(const federation::KeyValue& value) {
  return std::visit([](const auto& each) { return Text(each); }, value);
}

void PrintGroups(const config::Config& config) {
  const std::vector<federation::PartKey> keys = KeysOfGroups(config.federation.policy);
  std::vector<Table::Column> columns = {{"group"},
                                        {"learners", Align::kRight},
                                        {"batch", Align::kRight},
                                        {"evaluation", Align::kRight},
                                        {"latency", Align::kRight},
                                        {"Mbit/s", Align::kRight}};
  for (const federation::PartKey& key : keys) {
    columns.push_back({std::string(key.column), Align::kRight});
  }
  Table groups(columns);
  for (const sim::DeviceGroup& group : config.simulation.groups) {
    std::vector<std::string> row = {group.name,
                                    Text(group.learners),
                                    Text(group.batch_time),
                                    Text(group.evaluation_batch_time),
                                    Text(group.latency),
                                    Text(group.bandwidth_mbit_s)};
    for (const federation::PartKey& key : keys) {
      row.push_back(InWords(config.federation.values.Find(key, group.name)));
    }
    groups.AddRow(row);
  }
  groups.Print(std::cout, OutputIsTerminal());
}

void PrintSummary(const config::Config& config) {
  using config::ValueOf;
  Table table({{""}, {""}});
  table.AddRow({"policy", ValueOf(config, "federation.policy")});
  table.AddRow({"protocol", ValueOf(config, "federation.protocol")});
  table.AddRow({"weighting", ValueOf(config, "federation.weighting")});
  table.AddRow({"update", config.federation.policy.trigger->in_words(config.federation)});
  table.AddRow({"learners", ValueOf(config, "federation.learners")});
  table.AddRow({"data", Text("sizes ", ValueOf(config, "data.sizes"), ", classes ",
                             ValueOf(config, "data.classes"))});
  table.AddRow({"training", Text("learning rate ", config.training.learning_rate, ", momentum ",
                                 config.training.momentum, ", proximal ", config.training.proximal,
                                 ", batch ", config.training.batch_size)});
  table.AddRow({"ends", StopInWords(config.federation.stop)});
  table.AddRow({"tested", TestInWords(config.federation.test)});
  table.AddRow({"seed", ValueOf(config, "federation.seed")});
  table.Print(std::cout);
  std::cout << "\n";
  PrintGroups(config);
}

}  // namespace

int Init(const std::vector<std::string>& arguments) {
  CLI::App app("Write a commented configuration file to start from.", "metis init");
  std::string path = "federation.toml";
  bool force = false;
  app.add_option("FILE", path, "The file to write")->capture_default_str();
  app.add_flag("--force", force, "Replace the file if it exists");
  app.footer("Example:\n  metis init hospital.toml\n  metis check hospital.toml");
  if (auto code = Parse(app, arguments)) return *code;
  if (int code = WriteFile(path, config::FormatTemplate(), force); code != kOk) return code;
  std::cout << "wrote " << path << "; edit it, then see what it means: metis check " << path
            << "\n";
  return Finish();
}

int Check(const std::vector<std::string>& arguments) {
  CLI::App app("Say what a configuration file means, or everything that is wrong with it.",
               "metis check");
  std::string path;
  std::vector<std::string> sets;
  bool resolved = false;
  app.add_option("FILE", path, "The configuration file")->required();
  app.add_option("--set", sets, "Set a key over the file: section.key=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--resolved", resolved, "Print every key with its value, as TOML");
  app.footer(
      "Example:\n  metis check federation.toml\n"
      "  metis check federation.toml --set federation.learners=20 --resolved");
  if (auto code = Parse(app, arguments)) return *code;
  std::vector<config::Assignment> overrides;
  for (const std::string& set : sets) {
    Result<config::Assignment> assignment = config::ParseAssignment(set);
    if (!assignment) return Complain(assignment.error().message, kUsage);
    overrides.push_back(*assignment);
  }
  Result<config::Config> config = config::ReadConfig(path, overrides);
  if (!config) {
    std::cerr << config.error().message << "\n";
    return kFailed;
  }
  if (resolved) {
    std::cout << config::FormatConfig(*config);
  } else {
    PrintSummary(*config);
  }
  return Finish();
}

int HelpConfig(const std::vector<std::string>& arguments) {
  CLI::App app("Explain every key of a configuration file.", "metis help config");
  bool markdown = false;
  app.add_flag("--markdown", markdown, "As the page docs/configuration.md");
  app.footer("Example:\n  metis help config | less");
  if (auto code = Parse(app, arguments)) return *code;
  std::cout << (markdown ? config::FormatReference() : config::FormatKeyHelp());
  return Finish();
}

}  // namespace metis::apps
