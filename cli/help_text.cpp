#include "cli/help_text.hpp"

#include <iterator>

#include <fmt/format.h>

namespace shardsim::cli {

namespace {

constexpr std::size_t width = 80;
constexpr std::size_t column = 26;  ///< where explanations stand

void add_entry(std::string& text, const std::string& heading, const std::string& meaning) {
  std::string line = "  " + heading;
  // A heading too long for its column has a line of its own.
  if (line.size() + 1 > column) {
    text += line + "\n";
    line.clear();
  }
  for (const std::string& words : wrapped_words(meaning, width - column)) {
    text += fmt::format("{:<{}}{}\n", line, column, words);
    line.clear();
  }
}

std::string meaning_of(const OptionEntry& entry) {
  std::string text = entry.description;
  if (!entry.default_value.empty() && !entry.value_optional) {
    text += fmt::format(" [{}]", entry.default_value);
  }
  if (!entry.needs.empty()) text += fmt::format(" (with {})", entry.needs);
  if (entry.required && entry.names.front().front() == '-') text += " (required)";
  if (entry.repeats && entry.names.front().front() == '-') text += "; may be repeated";
  return text;
}

void add_entries(std::string& text, const char* title, const std::vector<OptionEntry>& entries) {
  if (entries.empty()) return;
  text += fmt::format("\n{}\n", title);
  for (const OptionEntry& one : entries) add_entry(text, one.heading(), meaning_of(one));
}

void add_commands(std::string& text, const CommandPage& page) {
  if (page.commands.empty()) return;
  text += "\nCommands:\n";
  for (const CommandPage& one : page.commands) add_entry(text, one.name, one.summary);
}

void add_examples(std::string& text, const CommandPage& page) {
  if (page.examples.empty()) return;
  text += "\nExamples:\n";
  for (const Example& one : page.examples) {
    text += fmt::format("  {}:\n", one.what);
    for (const std::string& command : one.commands) text += fmt::format("    {}\n", command);
  }
}

}  // namespace

std::string help_text(const CommandPage& page) {
  std::string text = fmt::format("{}{}\n", page.summary, page.summary.ends_with('?') ? "" : ".");
  if (!page.description.empty()) {
    text += "\n";
    for (const std::string& line : wrapped_words(page.description, width)) text += line + "\n";
  }
  text += fmt::format("\nUsage: {}\n", page.usage());
  add_entries(text, "Arguments:", page.arguments);
  add_commands(text, page);
  add_entries(text, "Options:", page.options);
  add_entries(text, "Options of the command above:", page.inherited);
  add_examples(text, page);
  const bool whole = page.path == page.name;
  if (whole) {
    text += "\nExit status:\n";
    for (const ExitStatus& one : exit_statuses) {
      add_entry(text, std::to_string(one.status), one.meaning);
    }
    text += fmt::format("\n`{} help COMMAND` tells all about a command.\n", page.name);
  }
  return text;
}

}  // namespace shardsim::cli
