#include "cli/man_page.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::cli {

namespace {

/// Text in which troff finds nothing to interpret.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  // A line that begins so would be a request.
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string heading_of(const OptionEntry& entry) {
  if (entry.names.front().front() != '-') {
    return fmt::format("\\fI{}\\fR", escaped(entry.heading()));
  }
  std::vector<std::string> names;
  names.reserve(entry.names.size());
  for (const std::string& name : entry.names) {
    names.push_back(fmt::format("\\fB{}\\fR", escaped(name)));
  }
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (entry.value.empty()) return text;
  const std::string value = fmt::format("\\fI{}\\fR", escaped(entry.value));
  return text + (entry.value_optional ? fmt::format(" [{}]", value) : " " + value);
}

void add_entries(std::string& page, const std::vector<OptionEntry>& entries) {
  for (const OptionEntry& one : entries) {
    page += fmt::format(".TP\n{}\n{}.", heading_of(one), escaped(one.description));
    if (!one.needs.empty()) page += fmt::format("\nWith \\fB{}\\fR.", escaped(one.needs));
    if (one.repeats && one.names.front().front() == '-') page += "\nMay be repeated.";
    if (one.required) page += "\nRequired.";
    if (!one.default_value.empty() && !one.value_optional) {
      page += fmt::format("\nBy default {}.", escaped(one.default_value));
    }
    page += "\n";
  }
}

void add_examples(std::string& page, const CommandPage& command) {
  for (const Example& one : command.examples) {
    page += fmt::format(".PP\n{}:\n.PP\n.nf\n.RS 4\n", escaped(one.what));
    for (const std::string& text : one.commands) page += escaped(text) + "\n";
    page += ".RE\n.fi\n";
  }
}

/// What a command's own command adds to its page.
void add_section(std::string& page, const CommandPage& command) {
  page += fmt::format(".SS {}\n{}.\n", escaped(command.usage()), escaped(command.summary));
  if (!command.description.empty()) page += ".PP\n" + escaped(command.description) + "\n";
  add_entries(page, command.arguments);
  add_entries(page, command.options);
  add_examples(page, command);
}

void add_ending(std::string& page, const CommandPage& program) {
  page += ".SH EXIT STATUS\n";
  for (const ExitStatus& one : exit_statuses) {
    page += fmt::format(".TP\n{}\n{}\n", one.status, escaped(one.meaning));
  }
  page +=
      ".SH ENVIRONMENT\n.TP\n\\fBSHARDSIM_DATA\\fR\nFolder that holds topologies/ and scenarios/, "
      "instead of the one that was installed with the program; \\fB\\-\\-data\\fR goes before "
      "it.\n.TP\n\\fBNO_COLOR\\fR\nIf set, no colours in a terminal.\n";
  page += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)", program.name);
  for (const CommandPage& one : program.commands) {
    page += fmt::format(",\n\\fB{}\\-{}\\fR(1)", program.name, one.name);
  }
  page +=
      "\n.PP\nScenarios, the meaning of every key and what forecasts are worth: "
      "/usr/share/doc/shardsim where the program comes from a package.\n";
}

ManPage write(const CommandPage& program, const CommandPage& command, const std::string& name) {
  std::string text =
      fmt::format(".TH {} 1 \"\" \"shardsim {}\" \"User Commands\"\n", name, SHARDSIM_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.summary));
  text += fmt::format(".SH SYNOPSIS\n{}\n", escaped(command.usage()));
  const std::string& description =
      command.description.empty() ? command.summary + "." : command.description;
  text += fmt::format(".SH DESCRIPTION\n{}\n", escaped(description));
  if (!command.arguments.empty()) text += ".SH ARGUMENTS\n";
  add_entries(text, command.arguments);
  if (!command.options.empty()) text += ".SH OPTIONS\n";
  add_entries(text, command.options);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandPage& one : command.commands) {
    if (&command == &program) {
      text += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fB{}\\-{}\\fR(1).\n", one.name,
                          escaped(one.summary), program.name, one.name);
    } else {
      add_section(text, one);
    }
  }
  if (!command.examples.empty()) text += ".SH EXAMPLES\n";
  add_examples(text, command);
  add_ending(text, program);
  return {name + ".1", std::move(text)};
}

}  // namespace

ManPage man_page(const CommandPage& program, const std::string& command) {
  const auto found = std::ranges::find(program.commands, command, &CommandPage::name);
  if (found == program.commands.end()) return write(program, program, program.name);
  return write(program, *found, program.name + "-" + command);
}

std::vector<ManPage> man_pages(const CommandPage& program) {
  std::vector<ManPage> pages{man_page(program, "")};
  pages.reserve(program.commands.size() + 1);
  for (const CommandPage& one : program.commands) pages.push_back(man_page(program, one.name));
  return pages;
}

}  // namespace shardsim::cli
