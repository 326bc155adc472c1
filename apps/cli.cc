#include "apps/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/core/version.h"

namespace metis::apps {
namespace {

// Where there are words that are none of its options: the one that was perhaps meant.
std::string MeantOption(const CLI::App& app) {
  std::vector<const CLI::App*> levels = {&app};
  while (!levels.back()->get_subcommands().empty()) {
    levels.push_back(levels.back()->get_subcommands().back());
  }
  std::vector<std::string> known;
  for (const CLI::App* level : levels) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--")) continue;
    const std::string nearest = Nearest(word.substr(0, word.find('=')), known);
    return nearest.empty() ? "" : Text("; did you mean ", nearest, "?");
  }
  return "";
}

}  // namespace

int Complain(std::string_view message, int code) {
  std::cout.flush();
  std::cerr << "metis: " << message << "\n";
  return code;
}

void AddVersionOption(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " + std::string(ProgramVersion()),
                       "Print the version and exit");
}

std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success, std::cout, std::cerr);
    return Finish();
  } catch (const CLI::ParseError& error) {
    const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return Complain(
        Text(error.what(), unknown ? MeantOption(app) : "", "\nSee `", app.get_name(), " --help`."),
        kUsage);
  }
}

CLI::App* AddCommand(CLI::App& app, const std::string& word, const std::string& description,
                     const std::string& example) {
  CLI::App* command = app.add_subcommand(word, description);
  command->footer("Example:\n" + example);
  return command;
}

CLI::Validator NumberWithin(double least, double most) {
  const std::string words = Text(least, " to ", most);
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return fits ? std::string() : Text("\"", text, "\": must be a number from ", words);
      },
      words);
}

CLI::Validator WholeWithin(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](std::string& text) {
        const std::optional<uint64_t> value = ParseNumber<uint64_t>(text);
        if (!value || *value < least || *value > most) {
          return Text("\"", text, "\": must be a whole number from ", least, " to ", most);
        }
        text = Text(*value);  // "010" is 10
        return std::string();
      },
      Text(least, " to ", most));
}

void AddSeedOption(CLI::App& app, uint64_t& seed, const std::string& help) {
  app.add_option("--seed", seed, help)
      ->transform(WholeWithin(0, std::numeric_limits<int64_t>::max()).description(""))
      ->capture_default_str();
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? "must not be empty" : std::string(); }, "");
}

Result<void> CheckFree(const std::string& path, bool force) {
  std::error_code ignored;
  if (path.empty()) return Invalid("--out is empty: name a file for the model");
  if (std::filesystem::is_directory(path, ignored)) {
    return Invalid(Text(path, " is a directory: name a file"));
  }
  if (force || !std::filesystem::exists(path, ignored)) return {};
  return Invalid(Text(path, " already exists: choose another file, or --force to replace it"));
}

bool OutputIsTerminal() {
  const char* term = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  bool colours = term != nullptr && std::string_view(term) != "dumb" &&
                 (no_color == nullptr || no_color[0] == '\0');
  return colours && ::isatty(STDOUT_FILENO) == 1;
}

int Finish(int code) {
  std::cout.flush();
  bool written = std::cout.good() && std::fflush(stdout) == 0;
  if (!written && code == kOk) return Complain("standard output could not be written");
  return code;
}

}  // namespace metis::apps
