#include "cli/command_line.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_page.hpp"
#include "cli/help_text.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

CommandLine::CommandLine()
    : root_("What will this sharded training step do on that GPU cluster?", "shardsim") {
  root_.set_help_flag("-h,--help", "Show this help");
  root_.set_version_flag("--version", SHARDSIM_VERSION, "Show the version");
  root_.require_subcommand(1);
  // Commands that are added take it over.
  root_.formatter_fn([this](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return help_text(page_of(*app, *this));
  });
}

void CommandLine::describe(const CLI::App& command, CommandNotes notes) {
  notes_.insert_or_assign(&command, std::move(notes));
}

const CommandNotes& CommandLine::notes(const CLI::App& command) const {
  static const CommandNotes none;
  const auto found = notes_.find(&command);
  return found == notes_.end() ? none : found->second;
}

bool has_base_of_c(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("+-"), text.size()));
  constexpr std::string_view digits = "0123456789abcdefABCDEFxX";
  return text.size() > 1 && text.starts_with('0') &&
         text.find_first_not_of(digits) == std::string_view::npos;
}

void allow_only(CLI::Option& option, const std::vector<std::string>& values) {
  const CLI::Validator member(
      [values](const std::string& word) {
        if (std::ranges::find(values, word) != values.end()) return std::string();
        return fmt::format("expected one of {}, found {}{}", fmt::join(values, ", "),
                           simcore::quote(word),
                           simcore::did_you_mean(simcore::nearest_spelling(word, values)));
      },
      "");
  option.type_name(fmt::format("{}", fmt::join(values, "|")))->check(member);
}

void expect_name(CLI::Option& option, const char* label) {
  const CLI::Validator named(
      [](const std::string& name) {
        return name.empty() ? std::string("expected a name") : std::string();
      },
      "");
  option.type_name(label)->check(named);
}

}  // namespace shardsim::cli
