#include <exception>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#include "tests/reference/block_team.cuh"
#include "tests/reference/cuda_check.cuh"
#include "tests/reference/device_run.hpp"
#include "tests/reference/mover.hpp"
#include "tests/reference/programs.hpp"

namespace shardsim::reference {

namespace {

/// At most 128 registers a thread, so that blocks of 256 fit two to an SM.
__global__ void __launch_bounds__(512) run_teams(const TeamWork* teams) {
  BlockTeam team;
  TeamWork work = teams[blockIdx.x];
  Mover<BlockTeam> mover(team, work);
  Program<Mover<BlockTeam>>(mover, work).run();
}

/// Threads of a block with which `blocks` are resident together; 0 if none does.
int resident_threads(int blocks, int wanted) {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  for (int threads = wanted > 0 ? wanted : 512; threads >= 32; threads /= 2) {
    int each = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, run_teams, threads, 0), "occupancy");
    if (each * processors >= blocks) return threads;
    if (wanted > 0) break;
  }
  return 0;
}

/// A job's memory on the GPU.
class DeviceMemory {
 public:
  explicit DeviceMemory(const DeviceJob& job)
      : job_(job),
        fifos_(static_cast<std::size_t>(job.connections) * fifo_bytes()),
        counters_(static_cast<std::size_t>(job.connections) * 2 * counter_stride),
        links_(job.links.size()),
        messages_(job.messages.size()),
        rings_(job.rings.size()),
        teams_(job.teams.size()),
        rows_(total_rows(job)) {
    messages_.from_host(job.messages.data());
    rings_.from_host(job.rings.data());
    set_links();
    for (const DeviceRank& rank : job.ranks) {
      sources_.emplace_back(static_cast<std::size_t>(rank.source_bytes));
      targets_.emplace_back(static_cast<std::size_t>(rank.target_bytes));
    }
    set_teams();
  }

  /// As before the first run.
  void reset() const {
    fifos_.zero();
    counters_.zero();
    for (std::size_t r = 0; r < job_.ranks.size(); ++r) {
      sources_[r].from_host(job_.ranks[r].source);
      targets_[r].from_host(job_.ranks[r].target);
    }
  }

  void read_targets() const {
    for (std::size_t r = 0; r < job_.ranks.size(); ++r) targets_[r].to_host(job_.ranks[r].target);
  }
  void read_rows(std::vector<std::vector<LogRow>>& rows) const {
    std::vector<LogRow> all(rows_.size());
    rows_.to_host(all.data());
    rows.clear();
    std::size_t at = 0;
    for (const TeamPlan& team : job_.teams) {
      const auto count = static_cast<std::size_t>(team.rows);
      rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                        all.begin() + static_cast<std::ptrdiff_t>(at + count));
      at += count;
    }
  }
  const TeamWork* teams() const { return teams_.begin(); }

 private:
  /// Counters that others poll stand apart: two lines of the L2 cache.
  static constexpr std::size_t counter_stride = 32;

  static std::size_t total_rows(const DeviceJob& job) {
    std::size_t sum = 0;
    for (const TeamPlan& team : job.teams) sum += static_cast<std::size_t>(team.rows);
    return sum;
  }
  std::size_t fifo_bytes() const {
    return (static_cast<std::size_t>(job_.connection_bytes) + 255) / 256 * 256;
  }

  void set_links() {
    std::vector<Link> links;
    for (const LinkEnd& end : job_.links) {
      const auto c = static_cast<std::size_t>(end.connection);
      std::uint64_t* const counters = counters_.begin() + c * 2 * counter_stride;
      links.push_back(
          {fifos_.begin() + c * fifo_bytes(), counters, counters + counter_stride, end.peer});
    }
    links_.from_host(links.data());
  }

  void set_teams() {
    std::vector<TeamWork> works;
    std::size_t row = 0;
    for (const TeamPlan& team : job_.teams) {
      TeamWork work = team.work;
      const auto r = static_cast<std::size_t>(work.rank);
      const DeviceRank& rank = job_.ranks[r];
      work.ring = rings_.begin() + team.ring;
      work.inputs = links_.begin() + team.first_input;
      work.outputs = links_.begin() + team.first_output;
      work.messages = messages_.begin() + team.first_message;
      work.source =
          (rank.source_bytes > 0 ? sources_[r].begin() : targets_[r].begin()) + rank.source_at;
      work.target = targets_[r].begin() + rank.target_at;
      work.rows = rows_.begin() + row;
      work.row_limit = team.rows;
      row += static_cast<std::size_t>(team.rows);
      works.push_back(work);
    }
    teams_.from_host(works.data());
  }

  const DeviceJob& job_;
  DeviceArray<std::byte> fifos_;
  DeviceArray<std::uint64_t> counters_;
  DeviceArray<Link> links_;
  DeviceArray<Message> messages_;
  DeviceArray<int> rings_;
  DeviceArray<TeamWork> teams_;
  DeviceArray<LogRow> rows_;
  std::vector<DeviceArray<std::byte>> sources_;
  std::vector<DeviceArray<std::byte>> targets_;
};

}  // namespace

std::string device_description() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return {};
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return {};
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  return std::string(properties.name) + ", driver " + version(driver) + ", CUDA " +
         version(runtime);
}

std::string run_on_device(const DeviceJob& job, std::vector<std::vector<LogRow>>& rows) {
  try {
    const int blocks = static_cast<int>(job.teams.size());
    const int threads = resident_threads(blocks, job.threads);
    if (threads == 0) {
      return "this GPU cannot hold " + std::to_string(blocks) + " blocks at once";
    }
    const DeviceMemory memory(job);
    // The first run loads the kernel and warms caches; results and clock are the second's.
    for (int run = 0; run < 2; ++run) {
      memory.reset();
      const TeamWork* teams = memory.teams();
      void* arguments[] = {&teams};
      // Cooperative: refused where not all blocks are resident, which would deadlock.
      check(cudaLaunchCooperativeKernel(
                reinterpret_cast<const void*>(run_teams), dim3(static_cast<unsigned>(blocks)),
                dim3(static_cast<unsigned>(threads)), arguments, 0, nullptr),
            "launch");
      check(cudaDeviceSynchronize(), "kernel");
    }
    memory.read_targets();
    memory.read_rows(rows);
    return {};
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace shardsim::reference
