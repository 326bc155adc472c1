// What all programs of Metis share on the command line: exit codes, the version, how errors are
// said.
//
//   CLI::App app("Runs a federation in virtual time.", "metis simulate");
//   app.footer("Example:\n  metis simulate federation.toml --set stop.duration=30s");
//   ...
//   if (auto code = ParseArguments(app, argc, argv)) return *code;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/display.h"  // programs say what it says
#include "metis/core/result.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace metis::apps {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // the thing failed, or its input is bad
inline constexpr int kUsage = 2;   // the command line is wrong

// "metis: message" on standard error, each line of the message as it is; returns `code`.
int Complain(std::string_view message, int code = kFailed);

// Adds --version, which prints "NAME VERSION".
void AddVersionOption(CLI::App& app);

// The code to exit with at once, if there is one: after --help and --version, and after a usage
// error, which is said on standard error.
std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv);

// Adds a command with an example of its use.
CLI::App* AddCommand(CLI::App& app, const std::string& word, const std::string& description,
                     const std::string& example);

// For ->check(): a number from `least` to `most`. (CLI::Range lets "nan" pass.)
CLI::Validator NumberWithin(double least, double most);

// For ->transform(): a whole number from `least` to `most`, in decimal. (CLI11 alone takes "-1" for
// 2^64-1 and "010" for 8, and what is too large for the largest.)
CLI::Validator WholeWithin(uint64_t least, uint64_t most);

// Adds --seed: from 0 to 2^63-1, as in a configuration.
void AddSeedOption(CLI::App& app, uint64_t& seed, const std::string& help);

// For ->check() where empty stands for an option that was not given.
CLI::Validator NotEmpty();

// Fails where `path` exists and may not be replaced.
Result<void> CheckFree(const std::string& path, bool force);

// Whether standard output is a terminal that takes colours (NO_COLOR is unset, TERM isn't "dumb").
bool OutputIsTerminal();

// Flushes standard output; kFailed with a complaint if some of it could not be written (a full
// disk).
int Finish(int code = kOk);

}  // namespace metis::apps
