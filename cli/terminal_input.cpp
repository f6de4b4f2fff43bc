#include "cli/terminal_input.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include <unistd.h>

namespace shardsim::cli {

namespace {

constexpr std::size_t longest_line = 4096;

/// Set by the signal handler, which can reach nothing else.
volatile std::sig_atomic_t interrupt_came = 0;

void on_interrupt(int) { interrupt_came = 1; }

}  // namespace

TerminalInput::TerminalInput() {
  interrupt_came = 0;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  // Without SA_RESTART read() returns; with SA_RESETHAND a second interrupt ends the program.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

TerminalInput::~TerminalInput() { std::signal(SIGINT, SIG_DFL); }

bool TerminalInput::interrupted() { return interrupt_came != 0; }

std::optional<char> TerminalInput::next() {
  if (at_ == buffer_.size()) {
    std::array<char, 4096> chunk;
    ssize_t got = -1;
    do {
      if (interrupted()) return std::nullopt;
      got = read(STDIN_FILENO, chunk.data(), chunk.size());
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return std::nullopt;
    buffer_.assign(chunk.data(), static_cast<std::size_t>(got));
    at_ = 0;
  }
  return buffer_[at_++];
}

std::optional<std::string> TerminalInput::read_line() {
  if (interrupted()) return std::nullopt;
  std::string line;
  for (;;) {
    const auto c = next();
    if (!c) {
      if (line.empty() || interrupted()) return std::nullopt;
      return line;
    }
    if (*c == '\n') return line;
    if (line.size() < longest_line) line += *c;
  }
}

}  // namespace shardsim::cli
