// The seam between the CUDA runtime and whatever carries out collectives.
//
// A collective is a kernel on each member's GPU: it starts when its stream and its communicator
// are free, then waits for its peers. The runtime tells the backend when a member's kernel starts;
// the backend tells the runtime when all have and when each member's kernel ends. One communicator
// runs one collective at a time, so (instance, member) names the running kernel.
#pragma once

#include <cstdint>

#include "models/cuda/program.hpp"

namespace shardsim::cuda {

class CollectiveListener {
 public:
  virtual ~CollectiveListener() = default;
  /// The last member of the instance has arrived: from now on its kernels move data.
  virtual void collective_began(std::uint32_t instance) { static_cast<void>(instance); }
  /// The kernel of `member` ends now.
  virtual void member_finished(std::uint32_t instance, std::uint32_t member) = 0;
};

class CollectiveBackend {
 public:
  virtual ~CollectiveBackend() = default;
  virtual void attach(CollectiveListener& listener) = 0;
  /// The kernel of `member` starts now. `spec` outlives the collective. All members of an instance
  /// issue equal specs in equal order; a backend reports the first that differs.
  virtual void arrive(std::uint32_t instance, std::uint32_t member, const CollectiveSpec& spec) = 0;
};

}  // namespace shardsim::cuda
