#include "cli/progress_line.hpp"

#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace shardsim::cli {

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), shown_(isatty(STDERR_FILENO) == 1), begun_(Clock::now()) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressLine::update(double share, const std::string& note) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now - begun_ < std::chrono::seconds(1)) return;
  if (drawn_ && now - last_ < std::chrono::milliseconds(200)) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - begun_).count();
  if (!note.empty()) {
    constexpr int width = 24;
    const int full = static_cast<int>(share * width);
    std::cerr << fmt::format("\r\x1b[K{}: [{}{}] {}", what_,
                             std::string(static_cast<std::size_t>(full), '#'),
                             std::string(static_cast<std::size_t>(width - full), '.'), note)
              << std::flush;
    return;
  }
  std::cerr << fmt::format("\r\x1b[K{}: {:.0f} % after {:.0f} s", what_, share * 100, elapsed)
            << std::flush;
}

}  // namespace shardsim::cli
