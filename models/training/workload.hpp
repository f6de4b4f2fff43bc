// What one rank computes in a training step, in the pieces that a sharding strategy interleaves
// with communication.
//
// A strategy knows units (the root and the blocks) and their parameters; a workload knows the
// kernels inside them and what they save for the backward pass. The two meet here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cuda/program_recorder.hpp"

namespace shardsim::training {

/// The unit holding what no block holds: embedding, final norm, head.
inline constexpr int root_unit = -1;

/// One parameter tensor; dimension 0 is the one that per-parameter sharding splits.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : shape) product *= size;
    return product;
  }
};

enum class CollectiveRole : std::uint8_t { all_gather, reduce_scatter, all_reduce, bucket };
enum class CopyRole : std::uint8_t {
  copy_in,           ///< shards into the all-gather's buffer
  copy_out,          ///< the gathered buffer into parameters
  gradient_copy_in,  ///< gradients into the reduce-scatter's buffer
  cast,              ///< a change of element type
};

/// Which data-parallel bucket a prescribed all-reduce time belongs to.
enum class BucketPlace : std::uint8_t { head, block, embedding, all };

class Workload {
 public:
  virtual ~Workload() = default;

  virtual int blocks() const = 0;
  /// Parameters of `unit` (root_unit or 0..blocks-1), in registration order. Empty for prescribed
  /// workloads.
  virtual const std::vector<ParameterShape>& parameters(int unit) const = 0;

  // Compute, on the compute stream. Each allocates what it saves and frees what it consumed.
  virtual void embedding_forward(cuda::ProgramRecorder& recorder) = 0;
  virtual void block_forward(cuda::ProgramRecorder& recorder, int block) = 0;
  virtual void head_forward(cuda::ProgramRecorder& recorder) = 0;
  virtual void head_backward(cuda::ProgramRecorder& recorder) = 0;
  virtual void block_backward(cuda::ProgramRecorder& recorder, int block) = 0;
  virtual void embedding_backward(cuda::ProgramRecorder& recorder) = 0;
  /// One optimizer step over `parameters` elements held by this rank in `tensors` tensors.
  virtual void optimizer(cuda::ProgramRecorder& recorder, std::int64_t parameters,
                         std::int64_t tensors) = 0;

  /// A copy that moves `bytes` (read and written together) for `unit` in `tensors` pieces.
  virtual cuda::KernelSpec copy(CopyRole role, int unit, simcore::Bytes bytes,
                                std::int64_t tensors) const = 0;
  /// Completes a collective of `unit`: prescribed workloads set its time, others leave it.
  virtual cuda::CollectiveSpec collective(CollectiveRole role, int unit,
                                          cuda::CollectiveSpec spec) const = 0;
  /// The same for a data-parallel bucket, by its place in the model and the blocks it spans.
  virtual cuda::CollectiveSpec bucket(BucketPlace place, cuda::CollectiveSpec spec) const = 0;
  /// CPU time of a strategy's hooks around one unit (0 for prescribed workloads).
  virtual simcore::SimTime hook_cost() const = 0;
};

}  // namespace shardsim::training
