// The file that `shardsim collective --chunk-work` writes: on which cluster a collective was
// planned, and for each size what NCCL's host hands to its kernels (nccl/chunk/chunk_work.hpp).
//
// Reference kernels read the works; `shardsim validate --reference` reads the cluster, so that a
// log of those kernels can be held against a run of the simulator. docs/chunk-trace.md lists the
// keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/nccl/chunk/chunk_work.hpp"
#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/collective_run.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

inline constexpr std::string_view chunk_work_schema = "shardsim.chunk-work/1";
/// Larger files are refused.
inline constexpr std::size_t max_chunk_work_bytes = std::size_t{256} << 20;

struct SizedWork {
  std::int64_t size = 0;  ///< bytes of the operation as nccl-tests counts them
  nccl::ChunkWork work;
};

/// What works belong to.
struct ChunkWorkSetup {
  ClusterRequest cluster;  ///< without changes of the topology
  CollectiveSettings settings;
  std::vector<std::int64_t> sizes{};  ///< of the works, when read
};

/// One JSON document, ending with a newline.
std::string chunk_work_json(const ChunkWorkSetup& setup, const std::vector<SizedWork>& works);

/// The set-up and the sizes. Nothing if `diagnostics` received an error: no JSON, missing or wrong
/// keys.
std::optional<ChunkWorkSetup> read_chunk_work_setup(const std::string& file,
                                                    simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario
