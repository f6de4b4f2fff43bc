// reference_virtual_ranks --work FILE [--log FILE] [--in-place] [--seed N] [--repeat N] [--threads
// N] reference_virtual_ranks --measure
//
// The twin's works on one GPU: each rank, channel and role is a thread block. `--measure` prints a
// topology of virtual ranks with what this GPU's blocks reach. Exit status as reference_twin's; 3
// without a GPU.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/reference/device_run.hpp"
#include "tests/reference/driver.hpp"

namespace shardsim::reference {
namespace {

DeviceJob job_of(const Plan& plan, std::vector<RankBuffers>& buffers, int threads) {
  DeviceJob job;
  job.teams = plan.teams;
  job.links = plan.links;
  job.messages = plan.messages;
  job.rings = plan.rings;
  job.connections = plan.connections;
  job.connection_bytes = plan.connection_bytes;
  job.threads = threads;
  for (RankBuffers& one : buffers) {
    job.ranks.push_back({one.source.data(), static_cast<std::int64_t>(one.source.size()),
                         one.source_at, one.target.data(),
                         static_cast<std::int64_t>(one.target.size()), one.target_at});
  }
  return job;
}

std::expected<std::vector<TeamLog>, std::string> run(const Plan& plan,
                                                     std::vector<RankBuffers>& buffers,
                                                     int threads) {
  std::vector<std::vector<LogRow>> rows;
  const std::string problem = run_on_device(job_of(plan, buffers, threads), rows);
  if (!problem.empty()) return std::unexpected(problem);
  std::vector<TeamLog> logs;
  for (std::size_t t = 0; t < plan.teams.size(); ++t) {
    const TeamWork& work = plan.teams[t].work;
    logs.push_back({work.rank, work.channel, work.role, std::move(rows[t])});
  }
  return logs;
}

/// Time of the fastest of five all-gathers of `bytes` from each rank, us; 0 if it fails.
double all_gather_us(Protocol protocol, int ranks, int channels, std::int64_t bytes, int threads) {
  const Work work = plain_ring(Collective::all_gather, protocol, ranks, channels, bytes);
  const Plan plan = plan_of(work);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    auto buffers = make_buffers(work, plan, false, 1);
    const auto logs = run(plan, buffers, threads);
    if (!logs) {
      std::cerr << logs.error() << '\n';
      return 0;
    }
    const double us = span_us(*logs);
    if (best == 0 || us < best) best = us;
  }
  return best;
}

int measure(int threads) {
  constexpr int ranks = 8;
  std::string text =
      fmt::format("# Thread blocks as ranks, measured on {}.\n", device_description());
  for (const auto& [protocol, name] :
       {std::pair{Protocol::ll, "LL"}, {Protocol::ll128, "LL128"}, {Protocol::simple, "Simple"}}) {
    const double small = all_gather_us(protocol, ranks, 1, 16, threads);
    if (small == 0) return 1;
    text += fmt::format("# {:<6} a hop of 16 bytes: {:.3f} us\n", name, small / (ranks - 1));
  }
  const double hop_us = all_gather_us(Protocol::ll, ranks, 1, 16, threads) / (ranks - 1);
  constexpr std::int64_t large = std::int64_t{64} << 20;
  const double us = all_gather_us(Protocol::simple, ranks, 8, large, threads);
  if (us == 0 || hop_us == 0) return 1;
  const double gbps = static_cast<double>(large) * (ranks - 1) / us * 1e-3;
  // Beside the cables a step has costs of its protocol, which the simulator knows for NVLink.
  text += fmt::format(
      "name: virtual-ranks-measured\nextends: virtual-ranks\nnode:\n  nvlink:\n"
      "    links_per_gpu: 1\n    link:\n"
      "      bandwidth: {:.1f} GB/s  # all-gather of 64 MiB from each of {} ranks, 8 channels\n"
      "      efficiency: 100 %\n"
      "      latency: {:.3f} us  # half of a hop of LL\n",
      gbps, ranks, hop_us / 2);
  std::cout << text;
  return 0;
}

}  // namespace
}  // namespace shardsim::reference

int main(int argc, char** argv) {
  using namespace shardsim::reference;
  if (device_description().empty()) {
    std::cerr << argv[0] << ": there is no GPU on this machine\n";
    return 3;
  }
  int threads = 0;
  bool measuring = false;
  std::vector<char*> rest{argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--measure") == 0) {
      measuring = true;
    } else if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      threads = std::clamp(std::atoi(argv[++i]) / 32 * 32, 32, 512);
    } else {
      rest.push_back(argv[i]);
    }
  }
  if (measuring) return measure(threads);
  std::cout << device_description() << '\n';
  return drive(static_cast<int>(rest.size()), rest.data(),
               [threads](const Plan& plan, std::vector<RankBuffers>& buffers) {
                 return run(plan, buffers, threads);
               });
}
