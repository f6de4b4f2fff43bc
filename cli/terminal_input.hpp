// Lines from standard input for a conversation: the end of input and an interrupt (Ctrl-C) come
// back as values, so that whoever talks to the user can save and say goodbye.
#pragma once

#include <optional>
#include <string>

namespace shardsim::cli {

/// While it lives, an interrupt ends a read_line() instead of the program; a second one during work
/// in between ends the program as usual.
class TerminalInput {
 public:
  TerminalInput();
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  /// Without its end; at most 4,096 bytes, the rest of a longer line is passed over. Nothing at the
  /// end of input or after an interrupt.
  std::optional<std::string> read_line();
  static bool interrupted();

 private:
  std::optional<char> next();

  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace shardsim::cli
