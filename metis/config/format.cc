// The texts that come out of the table of keys: resolved settings, template, reference.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "metis/config/config.h"
#include "metis/config/draft.h"
#include "metis/config/keys.h"
#include "metis/config/part_keys.h"
#include "metis/core/text.h"

namespace metis::config {
namespace {

constexpr size_t kColumns = 100;

// `text` in lines of at most kColumns, each with `indent` before it.
std::string Wrapped(std::string_view text, std::string_view indent) {
  std::string out, line(indent);
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    bool fresh = line.size() == indent.size();
    if (!fresh && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = indent;
      fresh = true;
    }
    line += fresh ? std::string(word) : Text(" ", word);
  }
  return out + line + "\n";
}

template <typename Target>
std::string Assignments(const std::vector<Key<Target>>& keys, const Target& target) {
  std::string out;
  for (const Key<Target>& key : keys) out += Text(key.name, " = ", key.Write(target), "\n");
  return out;
}

// The default in words: of a key whose default depends on others, else its value.
template <typename Target>
std::string DefaultOf(const Key<Target>& key, const Target& defaults) {
  return key.default_words.empty() ? key.Write(defaults) : key.default_words;
}

template <typename Target>
std::string TemplateLines(const std::vector<Key<Target>>& keys, const Target& target) {
  std::string out;
  for (const Key<Target>& key : keys) {
    out += Wrapped(key.documentation, "# ");
    out += Wrapped(
        Text(key.type, key.default_words.empty() ? "" : Text("; default: ", key.default_words)),
        "#   ");
    out += Text(key.suggested ? "" : "#", key.name, " = ", key.Write(target), "\n");
  }
  return out;
}

template <typename Target>
std::string MarkdownTable(const std::vector<Key<Target>>& keys, const Target& defaults) {
  std::string out = "| key | value | default | |\n|---|---|---|---|\n";
  for (const Key<Target>& key : keys) {
    std::string value = DefaultOf(key, defaults);
    out += Text("| `", key.name, "` | ", key.type, " | ",
                key.default_words.empty() ? Text("`", value, "`") : value, " | ", key.documentation,
                " |\n");
  }
  return out;
}

template <typename Target>
std::string HelpLines(const std::vector<Key<Target>>& keys, const Target& defaults) {
  std::string out;
  for (const Key<Target>& key : keys) {
    out += Text("  ", key.name, "\n", Wrapped(key.documentation, "      "),
                Wrapped(Text(key.type, "; default: ", DefaultOf(key, defaults)), "      "));
  }
  return out;
}

// A group in which every key has its default.
GroupDraft PlainGroup() {
  GroupDraft group = DraftOf(DefaultConfig()).groups.front();
  group.device.name = "fast";
  return group;
}

std::string Unquoted(std::string text) {
  bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::string FormatConfig(const Config& config) {
  Draft draft = DraftOf(config);
  std::string out;
  for (const Section& section : Sections()) {
    out +=
        Text(out.empty() ? "" : "\n", "[", section.name, "]\n", Assignments(section.keys, draft));
  }
  for (const GroupDraft& group : draft.groups) {
    out += Text("\n[[", kGroup, "]]\n", Assignments(GroupKeys(), group));
  }
  return out;
}

std::string ValueOf(const Config& config, std::string_view key) {
  size_t dot = key.find('.');
  METIS_CHECK_MSG(dot != std::string_view::npos, key);
  const Section* section = FindSection(key.substr(0, dot));
  METIS_CHECK_MSG(section != nullptr, key);
  const Key<Draft>* found = FindKey(section->keys, key.substr(dot + 1));
  METIS_CHECK_MSG(found != nullptr, key);
  return Unquoted(found->Write(DraftOf(config)));
}

std::string FormatTemplate() {
  Draft draft = DraftOf(DefaultConfig());
  std::string out =
      "# A federation. Lines that start with # show the defaults: remove the # to change one.\n"
      "# `metis check FILE` says what a file means, `metis help config` explains every key.\n";
  for (const Section& section : Sections()) {
    out += Text("\n", Wrapped(section.documentation, "# "), "[", section.name, "]\n",
                TemplateLines(section.keys, draft));
  }
  for (const GroupDraft& group : draft.groups) {
    bool first = &group == &draft.groups.front();
    out += Text("\n", first ? Wrapped(kGroupDocumentation, "# ") : "", "[[", kGroup, "]]\n");
    if (first) {
      out += TemplateLines(GroupKeys(), group);
      continue;
    }
    for (const Key<GroupDraft>& key : GroupKeys()) {
      bool shown = key.suggested || key.Write(group) != key.Write(draft.groups.front());
      out += Text(shown ? "" : "#", key.name, " = ", key.Write(group), "\n");
    }
  }
  return out;
}

std::string FormatReference() {
  Draft defaults = DraftOf(DefaultConfig());
  std::string out =
      "# Configuration\n"
      "\n"
      "<!-- Generated from the table of keys: metis help config --markdown > docs/configuration.md "
      "-->\n"
      "\n"
      "A federation is described by one [TOML](https://toml.io) file. Every key has a default: an "
      "empty\n"
      "file is a federation of ten learners, five of them slow. `metis init` writes a commented "
      "file to\n"
      "start from, and `metis check FILE` says what a file means, or what is wrong with it, all at "
      "once.\n"
      "\n"
      "Durations are texts with a unit, such as `\"100ms\"`, `\"90s\"`, `\"1.5h\"`\n"
      "(`ns`, `us`, `ms`, `s`, `min`, `h`, `d`). Ranges include their ends.\n"
      "On the command line, `--set section.key=value` wins over the file, and `--set "
      "group.NAME.key=value`\n"
      "changes the group of that name.\n";
  for (const Section& section : Sections()) {
    out += Text("\n## [", section.name, "]\n\n", section.documentation, "\n\n",
                MarkdownTable(section.keys, defaults));
  }
  out += Text(
      "\n## [[", kGroup, "]]\n\n", kGroupDocumentation,
      " Without any, there are two:\n`fast` with the defaults below, and `slow`, which takes ten "
      "times as long for a batch\nand has ",
      OwnValuesInWords("slow"), " of its own.\n\n", MarkdownTable(GroupKeys(), PlainGroup()));
  return out;
}

std::string FormatKeyHelp() {
  Draft defaults = DraftOf(DefaultConfig());
  std::string out;
  for (const Section& section : Sections()) {
    out += Text(out.empty() ? "" : "\n", "[", section.name, "]  ", section.documentation, "\n",
                HelpLines(section.keys, defaults));
  }
  return out + Text("\n[[", kGroup, "]]  ", kGroupDocumentation, "\n",
                    HelpLines(GroupKeys(), PlainGroup()));
}

}  // namespace metis::config
