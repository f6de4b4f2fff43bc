// Teams as thread blocks of one GPU, all resident at once.
//
// For host code of any standard: CUDA's headers stay behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/reference/team_work.hpp"

namespace shardsim::reference {

/// Memory of a rank on the host, and where in it source and target begin. In place: no source.
struct DeviceRank {
  const std::byte* source = nullptr;
  std::int64_t source_bytes = 0;
  std::int64_t source_at = 0;
  std::byte* target = nullptr;
  std::int64_t target_bytes = 0;
  std::int64_t target_at = 0;
};

struct DeviceJob {
  std::vector<TeamPlan> teams;
  std::vector<LinkEnd> links;
  std::vector<Message> messages;
  std::vector<int> rings;
  int connections = 0;
  std::int64_t connection_bytes = 0;
  std::vector<DeviceRank> ranks;
  int threads = 0;  ///< of a block; 0: as many, up to 512, as let all blocks be resident
};

/// Name of the GPU, driver and runtime: "NVIDIA H200, driver 13.0, CUDA 13.0". Empty without a GPU.
std::string device_description();

/// Copies the ranks' memory to the GPU, runs the teams once without and once with the clock
/// watched, and copies the targets back. `rows` receives what each team logged. Returns what went
/// wrong, or nothing.
std::string run_on_device(const DeviceJob& job, std::vector<std::vector<LogRow>>& rows);

}  // namespace shardsim::reference
