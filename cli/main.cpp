#include "cli/application.hpp"

int main(int argc, char** argv) { return shardsim::cli::run_application(argc, argv); }
