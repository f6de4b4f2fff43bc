#include "cli/command_page.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::cli {

namespace {

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.value = option.get_items_expected_max() == 0 ? std::string() : option.get_type_name();
  if (option.get_positional()) {
    entry.names = {entry.value};
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  entry.value_optional = !entry.value.empty() && option.get_items_expected_min() == 0;
  entry.description = option.get_description();
  entry.default_value = option.get_default_str();
  if (!option.get_needs().empty()) {
    entry.needs = "--" + (*option.get_needs().begin())->get_lnames().front();
  }
  entry.required = option.get_required();
  entry.repeats = option.get_items_expected_max() > 1 ||
                  option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return entry;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : path_of(*app.get_parent()) + " " + app.get_name();
}

void add_options(const CLI::App& app, CommandPage& page) {
  for (const CLI::Option* option : app.get_options()) {
    OptionEntry entry = entry_of(*option);
    (option->get_positional() ? page.arguments : page.options).push_back(std::move(entry));
  }
}

void add_inherited(const CLI::App& app, CommandPage& page) {
  if (!app.get_fallthrough() || app.get_parent() == nullptr) return;
  for (const CLI::Option* option : app.get_parent()->get_options()) {
    if (option != app.get_parent()->get_help_ptr()) page.inherited.push_back(entry_of(*option));
  }
}

}  // namespace

std::vector<std::string> OptionEntry::choices() const {
  std::vector<std::string> found;
  if (!value.contains('|')) return found;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t bar = std::min(value.find('|', at), value.size());
    found.push_back(value.substr(at, bar - at));
    at = bar + 1;
  }
  return found;
}

std::string OptionEntry::heading() const {
  const bool argument = names.front().front() != '-';
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (argument) return text + (repeats ? "..." : "");
  if (!value.empty()) text += value_optional ? fmt::format(" [{}]", value) : " " + value;
  return text;
}

std::string CommandPage::usage() const {
  std::string text = path;
  if (!options.empty()) text += " [OPTIONS]";
  for (const OptionEntry& one : arguments) {
    text += one.required ? " " + one.heading() : fmt::format(" [{}]", one.heading());
  }
  for (const OptionEntry& one : options) {
    if (one.required) text += fmt::format(" {} {}", one.names.back(), one.value);
  }
  if (!commands.empty()) text += needs_command ? " COMMAND" : " [COMMAND]";
  return text;
}

CommandPage page_of(const CLI::App& app, const CommandLine& line) {
  CommandPage page;
  page.name = app.get_name();
  page.path = path_of(app);
  page.summary = app.get_description();
  page.description = line.notes(app).description;
  page.examples = line.notes(app).examples;
  page.needs_command = app.get_require_subcommand_min() > 0;
  add_options(app, page);
  add_inherited(app, page);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    page.commands.push_back(page_of(*command, line));
  }
  return page;
}

std::vector<std::string> wrapped_words(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string left = text;
  while (left.size() > width) {
    std::size_t space = left.rfind(' ', width);
    if (space == std::string::npos) space = left.find(' ');
    if (space == std::string::npos) break;
    lines.push_back(left.substr(0, space));
    left.erase(0, space + 1);
  }
  lines.push_back(std::move(left));
  return lines;
}

}  // namespace shardsim::cli
