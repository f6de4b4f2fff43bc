// reference_twin --work FILE [--log FILE] [--in-place] [--seed N] [--repeat N]
//
// Carries out the works of a file with CPU threads, checks every result, and writes what the
// threads did. Exit status 0; 1 if a result is wrong; 2 for bad arguments or files.
#include "tests/reference/cpu_run.hpp"
#include "tests/reference/driver.hpp"

int main(int argc, char** argv) {
  using namespace shardsim::reference;
  return drive(argc, argv, [](const Plan& plan, std::vector<RankBuffers>& buffers) {
    std::vector<RankMemory> memory;
    for (RankBuffers& one : buffers) memory.push_back({one.source_begin(), one.target_begin()});
    return std::expected<std::vector<TeamLog>, std::string>(run_on_cpu(plan, memory));
  });
}
