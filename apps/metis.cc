// The front program: `metis WORD ...` runs a command of its own or the sibling program metis-WORD.
#include <iostream>
#include <string>
#include <vector>

#include "apps/cli.h"
#include "apps/config_commands.h"
#include "apps/siblings.h"
#include "apps/table.h"
#include "metis/config/suggest.h"
#include "metis/core/text.h"
#include "metis/core/version.h"

namespace metis::apps {
namespace {

using Arguments = std::vector<std::string>;

int Dispatch(const Arguments& arguments);
int Help(const Arguments& arguments);

struct Command {
  std::string_view word;
  std::string_view description;
  int (*run)(const Arguments& arguments);
};

constexpr Command kCommands[] = {
    {"init", "Write a commented configuration file to start from", Init},
    {"check", "Say what a configuration file means, or what is wrong with it", Check},
    {"help", "Explain a command, or all configuration keys: metis help config", Help},
};

void PrintHelp(std::ostream& out) {
  Table table({{""}, {""}, {""}});
  for (const Command& command : kCommands) {
    table.AddRow({"", std::string(command.word), std::string(command.description)});
  }
  for (const Sibling& sibling : FindSiblings()) {
    table.AddRow({"", sibling.word, std::string(DescriptionOf(sibling.word))});
  }
  out << "Metis: federated learning judged by distributed validation.\n\n"
         "Usage: metis COMMAND [ARGUMENTS]\n"
         "       metis COMMAND --help\n"
         "       metis --version\n\n"
         "Commands:\n";
  table.Print(out);
  out << "\nExample:\n"
         "  metis init\n"
         "  metis check federation.toml\n"
         "  metis simulate federation.toml --out runs/tryout\n";
}

int UnknownCommand(std::string_view word) {
  Arguments known;
  for (const Command& command : kCommands) known.emplace_back(command.word);
  for (const Sibling& sibling : FindSiblings()) known.push_back(sibling.word);
  return Complain(Text("there is no command \"", word, "\"", config::DidYouMean(": ", word, known),
                       "\nSee `metis help` for all commands."),
                  kUsage);
}

// `metis help W` is `metis W --help`; alone, it lists the commands.
int Help(const Arguments& arguments) {
  bool about_itself = !arguments.empty() && (arguments[0] == "help" || arguments[0] == "--help");
  if (arguments.empty() || about_itself) {
    PrintHelp(std::cout);
    return Finish();
  }
  if (arguments[0] == "config") return HelpConfig({arguments.begin() + 1, arguments.end()});
  return Dispatch({arguments[0], "--help"});
}

int Dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    PrintHelp(std::cerr);
    return kUsage;
  }
  const std::string& word = arguments[0];
  Arguments rest(arguments.begin() + 1, arguments.end());
  if (word == "--version" || word == "-V") {
    std::cout << "metis " << ProgramVersion() << "\n";
    return Finish();
  }
  if (word == "--help" || word == "-h") return Help({});
  if (word.starts_with("-")) {
    return Complain(Text("there is no option ", word, "\nSee `metis --help`."), kUsage);
  }
  for (const Command& command : kCommands) {
    if (command.word == word) return command.run(rest);
  }
  if (std::optional<Sibling> sibling = FindSibling(word)) return Run(*sibling, rest);
  return UnknownCommand(word);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) {
  return metis::apps::Dispatch(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
