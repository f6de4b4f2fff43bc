#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell_completion.hpp"
#include "cli/shell_text.hpp"

namespace shardsim::cli {

namespace {

/// In brackets and between colons of _arguments.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string listed(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(escaped(word));
  return fmt::format("({})", fmt::join(quoted, " "));
}

/// The action of _arguments behind `:label:`.
std::string action(const OptionEntry& entry, const CompletionWords& words) {
  if (const auto choices = entry.choices(); !choices.empty()) return listed(choices);
  if (entry.value == label::file) return "_files";
  if (entry.value == label::folder) return "_files -/";
  if (entry.value == label::setting || entry.value == label::axis) return "_shardsim_keys";
  const auto known = words.by_label.find(entry.value);
  if (known == words.by_label.end()) return " ";
  // A path does as well as a name.
  if (entry.value == label::scenario) return "_shardsim_scenarios";
  if (entry.value == label::topology) return "_shardsim_topologies";
  return listed(known->second);
}

std::string argument_spec(const OptionEntry& entry, const CompletionWords& words) {
  const std::string place = entry.repeats ? "*" : entry.required ? "1" : "1:";
  const std::string colon = place.ends_with(':') ? "" : ":";
  return shell_quoted(
      fmt::format("{}{}{}:{}", place, colon, escaped(entry.value), action(entry, words)));
}

std::string option_specs(const OptionEntry& entry, const CompletionWords& words) {
  std::string all;
  for (const std::string& name : entry.names) {
    std::string spec =
        fmt::format("{}{}[{}]", entry.repeats ? "*" : "", name, escaped(entry.description));
    if (!entry.value.empty()) {
      spec += fmt::format(":{}{}:{}", entry.value_optional ? ":" : "", escaped(entry.value),
                          action(entry, words));
    }
    all += " \\\n    " + shell_quoted(spec);
  }
  return all;
}

std::string function_name(const CommandPage& command) {
  std::string name = "_" + command.path;
  std::ranges::replace(name, ' ', '_');
  return name;
}

void add_function(std::string& text, const CommandPage& command, const CompletionWords& words) {
  for (const CommandPage& one : command.commands) add_function(text, one, words);
  const bool group = !command.commands.empty();
  text += fmt::format("\n{}() {{\n", function_name(command));
  if (group) text += "  local curcontext=$curcontext state line\n  typeset -A opt_args\n";
  text += fmt::format("  _arguments{}", group ? " -C" : "");
  for (const auto* entries : {&command.options, &command.inherited}) {
    for (const OptionEntry& one : *entries) text += option_specs(one, words);
  }
  for (const OptionEntry& one : command.arguments) {
    text += " \\\n    " + argument_spec(one, words);
  }
  if (!group) {
    text += "\n}\n";
    return;
  }
  text += " \\\n    '1: :->command' \\\n    '*:: :->rest'\n  case $state in\n    command)\n";
  text += "      local -a commands=(";
  for (const CommandPage& one : command.commands) {
    text += "\n        " + shell_quoted(fmt::format("{}:{}", one.name, one.summary));
  }
  text += ")\n      _describe command commands ;;\n    rest)\n      case $words[1] in\n";
  for (const CommandPage& one : command.commands) {
    text += fmt::format("        {}) {} ;;\n", one.name, function_name(one));
  }
  text += "      esac ;;\n  esac\n}\n";
}

std::string names_or_files(const char* function, const char* of, const CompletionWords& words) {
  const auto known = words.by_label.find(of);
  const std::string all =
      known == words.by_label.end() ? "" : fmt::format("{}", fmt::join(known->second, " "));
  return fmt::format("\n{}() {{\n  local -a names=({})\n  compadd -a names\n  _files\n}}\n",
                     function, all);
}

}  // namespace

std::string zsh_completion(const CommandPage& program, const CompletionWords& words) {
  std::string text = fmt::format(
      "#compdef {0}\n# zsh completion for {0}, written by `{0} completion zsh`.\n", program.name);
  text += names_or_files("_shardsim_scenarios", label::scenario, words);
  text += names_or_files("_shardsim_topologies", label::topology, words);
  const auto keys = words.by_label.find(label::setting);
  text += "\n_shardsim_keys() {\n  local -a keys=(";
  if (keys != words.by_label.end()) text += fmt::format("{}", fmt::join(keys->second, " "));
  text += ")\n  compadd -S '=' -a keys\n}\n";
  add_function(text, program, words);
  // Both ways of loading: autoloaded from a folder of functions, or sourced.
  text += fmt::format(
      "\nif [[ $funcstack[1] == _{0} ]]; then\n  _{0} \"$@\"\nelse\n  compdef _{0} {0}\nfi\n",
      program.name);
  return text;
}

}  // namespace shardsim::cli
