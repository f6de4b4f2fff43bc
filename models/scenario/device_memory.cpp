#include "models/scenario/device_memory.hpp"

namespace shardsim::scenario {

using simcore::Bytes;

namespace {

// A CUDA context with the kernels of a training step loaded takes 0.3 to 0.6 GB on A100 and H100
// (reports of nvidia-smi beside torch.cuda.memory_reserved).
constexpr Bytes context{std::int64_t{450} << 20};

// A connection's buffers: 10 MiB at the receiver (Simple 4 MiB, LL 512 KiB, LL128 4.7 MiB, in
// blocks of 2 MiB) and 2 MiB at the sender (NCCL transport buffers, p2p.cc and net.cc). Per channel
// a ring has one connection in and out; trees, which all-reduces may choose, up to four more.
// Four A100 behind NVLink hold 688 MB in 24 channels by reports (NCCL issue 964), which is 27 MiB a
// channel: a ring and one and a quarter of a tree's connections.
constexpr Bytes per_channel{std::int64_t{27} << 20};

}  // namespace

Bytes memory_outside_allocator(const std::vector<nccl::CommunicatorSpec>& communicators,
                               int channels) {
  Bytes total = context;
  // Instances of a role are disjoint groups: a rank is in one of each.
  std::vector<std::string> counted;
  for (const nccl::CommunicatorSpec& one : communicators) {
    if (one.groups.front().size() < 2) continue;
    bool known = false;
    for (const std::string& role : counted) known = known || role == one.role;
    if (known) continue;
    counted.push_back(one.role);
    total += per_channel * channels;
  }
  return total;
}

}  // namespace shardsim::scenario
