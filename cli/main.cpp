#include <csignal>
#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

#include "cli/application.hpp"

namespace {

/// A file opened later would take the place of a standard stream that the caller has closed, and
/// receive what was meant for people. What takes its place fails as the closed one would.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is this one, since those below are in use.
    const int way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", way) != stream) _exit(2);
  }
}

/// A closed pipe and a file grown too large are then errors of a write, with a message, instead of
/// the program's end in the middle of one.
void leave_signals_to_writers() {
  for (const int one : {SIGPIPE, SIGXFSZ}) std::signal(one, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  leave_signals_to_writers();
  return shardsim::cli::run_application(argc, argv);
}
