// The command line as a whole: its subcommands and exit statuses.
#pragma once

namespace shardsim::cli {

/// Parses the arguments and carries out the subcommand. 0: success; 1: the run is impossible;
/// 2: bad input or arguments.
int run_application(int argc, const char* const* argv);

}  // namespace shardsim::cli
