#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell_completion.hpp"
#include "cli/shell_text.hpp"

namespace shardsim::cli {

namespace {

/// Calls `visit` with the command and all below it.
void for_each_command(const CommandPage& command,
                      const std::function<void(const CommandPage&)>& visit) {
  visit(command);
  for (const CommandPage& one : command.commands) for_each_command(one, visit);
}

std::string words_text(const std::vector<std::string>& words) {
  return shell_quoted(fmt::format("{}", fmt::join(words, " ")));
}

/// What completes a value: a call of one of the script's functions.
std::string completer(const OptionEntry& entry, const CompletionWords& words) {
  if (const auto choices = entry.choices(); !choices.empty()) {
    return "_shardsim_words " + words_text(choices);
  }
  if (entry.value == label::folder) return "_shardsim_folders";
  if (entry.value == label::setting || entry.value == label::axis) return "_shardsim_keys";
  const auto known = words.by_label.find(entry.value);
  const bool file_too = entry.value == label::file || entry.value == label::scenario ||
                        entry.value == label::topology || entry.value == label::prices ||
                        entry.value == label::table;
  std::string text;
  if (known != words.by_label.end()) text = "_shardsim_words " + words_text(known->second);
  if (file_too) text += text.empty() ? "_shardsim_files" : "; _shardsim_files";
  return text.empty() ? ":" : text;
}

std::string patterns(const CommandPage& command, const OptionEntry& entry) {
  std::vector<std::string> all;
  all.reserve(entry.names.size());
  for (const std::string& name : entry.names) {
    all.push_back(shell_quoted(command.path + " " + name));
  }
  return fmt::format("{}", fmt::join(all, " | "));
}

std::string value_cases(const CommandPage& program, const CompletionWords& words) {
  std::string text;
  for_each_command(program, [&](const CommandPage& command) {
    const auto add = [&](const std::vector<OptionEntry>& entries) {
      for (const OptionEntry& one : entries) {
        if (one.value.empty()) continue;
        text +=
            fmt::format("    {}) {}; return ;;\n", patterns(command, one), completer(one, words));
      }
    };
    add(command.options);
    add(command.inherited);
  });
  return text;
}

std::string word_cases(const CommandPage& program, const CompletionWords& words) {
  std::string text;
  for_each_command(program, [&](const CommandPage& command) {
    std::vector<std::string> options;
    std::vector<std::string> commands;
    for (const auto* entries : {&command.options, &command.inherited}) {
      for (const OptionEntry& one : *entries) {
        options.insert(options.end(), one.names.begin(), one.names.end());
      }
    }
    commands.reserve(command.commands.size());
    for (const CommandPage& one : command.commands) commands.push_back(one.name);
    std::string other = commands.empty() ? ":" : "_shardsim_words " + words_text(commands);
    if (!command.arguments.empty()) other = completer(command.arguments.front(), words);
    text +=
        fmt::format("    {})\n      if [[ $cur == -* ]]; then _shardsim_words {}; else {}; fi ;;\n",
                    shell_quoted(command.path), words_text(options), other);
  });
  return text;
}

std::string path_pattern(const CommandPage& program) {
  std::vector<std::string> paths;
  for_each_command(program, [&](const CommandPage& command) {
    if (&command != &program) paths.push_back(shell_quoted(command.path));
  });
  return fmt::format("{}", fmt::join(paths, " | "));
}

std::string key_cases(const CompletionWords& words) {
  std::string text;
  for (const auto& [key, values] : words.values_of_key) {
    text += fmt::format("    {}) _shardsim_words {} ;;\n", key, words_text(values));
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandPage& program, const CompletionWords& words) {
  const auto keys = words.by_label.find(label::setting);
  std::vector<std::string> with_sign;
  if (keys != words.by_label.end()) {
    with_sign.reserve(keys->second.size());
    for (const std::string& key : keys->second) with_sign.push_back(key + "=");
  }
  std::string text = fmt::format(
      R"(# bash completion for {0}, written by `{0} completion bash`.

_shardsim_words() {{
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}}

_shardsim_files() {{
  local word
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
}}

_shardsim_folders() {{
  local word
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$cur")
}}

_shardsim_keys() {{
  compopt -o nospace 2>/dev/null
  _shardsim_words {1}
}}

# The value of a key, where the choice is finite.
_shardsim_value() {{
  case $1 in
{2}  esac
}}

_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} path={0} i
  COMPREPLY=()
  # Readline makes a word of its own of '='.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${{COMP_WORDS[i]}}" in
      {3}) path="$path ${{COMP_WORDS[i]}}" ;;
    esac
  done
  if [[ $prev != -* && $prev == *.* ]]; then
    _shardsim_value "$prev"
    ((${{#COMPREPLY[@]}} > 0)) && return
  fi
  case "$path $prev" in
{4}  esac
  case $path in
{5}  esac
}}

complete -F _{0} {0}
)",
      program.name, words_text(with_sign), key_cases(words), path_pattern(program),
      value_cases(program, words), word_cases(program, words));
  return text;
}

}  // namespace shardsim::cli
