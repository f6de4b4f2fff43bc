// Host memory that a job's ranks hold on their nodes, against what a node has.
//
// Models what training.cpu_offload keeps there: shards of parameters and of gradients, in blocks of
// PyTorch's pinned memory, and the optimizer's states; all three at once, as at the end of every
// step. Leaves out the processes themselves, the loading of data, what initialisation holds for a
// moment and the system: a few per cent of a node that is left to them are not looked for.
#pragma once

#include <optional>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/network/graph.hpp"
#include "models/network/topology_spec.hpp"
#include "models/scenario/result.hpp"

namespace shardsim::scenario {

/// Of the node on which least is left for the job whose ranks run `program` on `gpus`, numbered as
/// in `graph`; where no node's memory is known, of the first with the most ranks. Nothing if the
/// ranks hold nothing on the host.
std::optional<HostMemoryResult> host_memory(const cuda::Program& program,
                                            const std::vector<int>& gpus,
                                            const network::Graph& graph,
                                            const network::TopologySpec& topology);

/// The part for which the node's memory no longer suffices, of `memory` that does not fit.
cuda::MemoryKind first_without_place(const HostMemoryResult& memory);

/// "the 8 ranks of node 0 hold 7.4 TiB of host memory (training.cpu_offload), and the node has
/// 2 TiB".
std::string shortage_text(const HostMemoryResult& memory);

}  // namespace shardsim::scenario
