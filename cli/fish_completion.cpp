#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell_completion.hpp"

namespace shardsim::cli {

namespace {

/// Fish knows two escapes between single quotes.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string listed(const std::vector<std::string>& words) {
  return quoted(fmt::format("{}", fmt::join(words, " ")));
}

/// What follows -r: the words, or files.
std::string value_text(const OptionEntry& entry, const CompletionWords& words) {
  if (const auto choices = entry.choices(); !choices.empty()) return " -x -a " + listed(choices);
  if (entry.value == label::file) return " -r -F";
  if (entry.value == label::folder) return " -x -a '(__fish_complete_directories)'";
  const auto known = words.by_label.find(entry.value);
  if (known == words.by_label.end()) return " -x";
  if (entry.value == label::setting || entry.value == label::axis) {
    std::vector<std::string> keys;
    keys.reserve(known->second.size());
    for (const std::string& key : known->second) keys.push_back(key + "=");
    return " -x -a " + listed(keys);
  }
  const bool file_too = entry.value == label::scenario || entry.value == label::topology ||
                        entry.value == label::prices || entry.value == label::table;
  return (file_too ? " -r -F -a " : " -x -a ") + listed(known->second);
}

void add_option(std::string& text, const std::string& start, const OptionEntry& entry,
                const CompletionWords& words) {
  text += start;
  for (const std::string& name : entry.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!entry.value.empty()) text += value_text(entry, words);
  text += " -d " + quoted(entry.description) + "\n";
}

/// The condition under which a command's words are wanted.
std::string condition(const CommandPage& command, bool commands_wanted) {
  std::vector<std::string> parts;
  for (std::size_t at = command.path.find(' '); at != std::string::npos;) {
    const std::size_t next = command.path.find(' ', at + 1);
    parts.push_back("__fish_seen_subcommand_from " + command.path.substr(at + 1, next - at - 1));
    at = next;
  }
  if (parts.empty()) return commands_wanted ? "__fish_use_subcommand" : "";
  if (commands_wanted) {
    std::string names;
    for (const CommandPage& one : command.commands) names += " " + one.name;
    parts.push_back("not __fish_seen_subcommand_from" + names);
  }
  return fmt::format("{}", fmt::join(parts, "; and "));
}

void add_command(std::string& text, const std::string& program, const CommandPage& command,
                 const CompletionWords& words) {
  const std::string when = condition(command, false);
  std::string start = "complete -c " + program;
  if (!when.empty()) start += " -n " + quoted(when);
  // Options of the command above are offered anyway: its condition still holds.
  for (const OptionEntry& one : command.options) add_option(text, start, one, words);
  for (const CommandPage& one : command.commands) {
    text += fmt::format("complete -c {} -n {} -f -a {} -d {}\n", program,
                        quoted(condition(command, true)), one.name, quoted(one.summary));
  }
  if (!command.arguments.empty()) {
    std::string words_text = value_text(command.arguments.front(), words);
    // An argument takes no option's `-r` and `-x`; files are what fish offers by itself.
    for (const char* flag : {" -r -F", " -x"}) {
      if (words_text.starts_with(flag)) words_text.erase(0, std::string_view(flag).size());
    }
    if (!words_text.empty()) text += start + words_text + "\n";
  }
  for (const CommandPage& one : command.commands) add_command(text, program, one, words);
}

}  // namespace

std::string fish_completion(const CommandPage& program, const CompletionWords& words) {
  std::string text =
      fmt::format("# fish completion for {0}, written by `{0} completion fish`.\n", program.name);
  add_command(text, program.name, program, words);
  return text;
}

}  // namespace shardsim::cli
