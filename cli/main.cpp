#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

#include "cli/application.hpp"

namespace {

/// A file opened later would take the place of a standard stream that the caller has closed, and
/// receive what was meant for people.
void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is this one, since those below are in use.
    if (open("/dev/null", O_RDWR) != stream) _exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  return shardsim::cli::run_application(argc, argv);
}
