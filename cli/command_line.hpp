// The command line as it is declared: CLI11's tree of commands, and beside it what CLI11 has no
// place for, the examples of each command.
//
// Help, man pages and shell completion are all written from these declarations. What a value is
// stands in the declaration as its label: one of the labels below, for which shells know the words,
// or choices in small letters, `mpi|threads|process`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

namespace label {
inline constexpr const char* file = "FILE";
inline constexpr const char* folder = "DIR";
inline constexpr const char* scenario = "SCENARIO";
inline constexpr const char* topology = "TOPOLOGY";
inline constexpr const char* setting = "KEY=VALUE";
inline constexpr const char* axis = "KEY=VALUES";
inline constexpr const char* figure = "FIGURE";
inline constexpr const char* question = "QUESTION";
inline constexpr const char* language = "LANG";
inline constexpr const char* prices = "PRICES";
inline constexpr const char* table = "TABLE";
inline constexpr const char* schema = "SCHEMA";
inline constexpr const char* number = "N";
}  // namespace label

/// Commands that do one thing, in order; they work in any folder, each in the one before's.
struct Example {
  std::string what;
  std::vector<std::string> commands;
};

struct CommandNotes {
  std::string description;  ///< further sentences, for the manual
  std::vector<Example> examples;
};

class CommandLine {
 public:
  CommandLine();

  CLI::App& root() { return root_; }
  const CLI::App& root() const { return root_; }

  /// What the chosen command is to do; returns the exit status.
  void choose(std::function<int()> action) { action_ = std::move(action); }
  const std::function<int()>& chosen() const { return action_; }

  void describe(const CLI::App& command, CommandNotes notes);
  /// Empty ones for a command that has none.
  const CommandNotes& notes(const CLI::App& command) const;

 private:
  CLI::App root_;
  std::function<int()> action_;
  std::map<const CLI::App*, CommandNotes> notes_;
};

/// Adds the check that the value is one of `values`, and shows them as its label.
void allow_only(CLI::Option& option, const std::vector<std::string>& values);

/// Adds the check that a name is not empty; "-" is one.
void expect_name(CLI::Option& option, const char* label);

/// Whether C would take the text for a number to another base than ten: 0x10, 010.
bool has_base_of_c(std::string_view text);

/// Adds the check that a number is between the two. CLI::Range would take NaN, and -1 as the
/// largest number without a sign.
template <class Number>
void expect_number(CLI::Option& option, Number least, Number most) {
  const CLI::Validator range(
      [least, most](const std::string& text) {
        Number value{};
        const bool read = CLI::detail::lexical_cast(text, value) && !has_base_of_c(text);
        const bool negative = std::is_unsigned_v<Number> && text.contains('-');
        if (read && !negative && value >= least && value <= most) return std::string();
        return fmt::format("expected a {}number from {} to {}, found {}",
                           std::is_integral_v<Number> ? "whole " : "", least, most,
                           simcore::quote(text));
      },
      "");
  option.type_name(label::number)->check(range);
}

}  // namespace shardsim::cli
