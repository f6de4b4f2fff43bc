// Memory over a step: what was allocated when and for what, and what the peak belongs to.
//
// PyTorch's allocator works at the CPU's time, which may run far ahead of the GPU. Every point
// therefore carries two times: when the CPU called, and when the GPU reached that place of the
// program, i.e. started the next operation of the compute stream. Pictures use the second, which
// agrees with the streams' rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/cuda/allocator_statistics.hpp"
#include "models/scenario/memory_log.hpp"
#include "models/scenario/step_log.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

/// The allocator's state from this moment to the next point. Times count from the step's begin.
struct MemoryPoint {
  simcore::SimTime time;
  simcore::SimTime device_time;  ///< equal to `time` where the GPU's progress is unknown
  simcore::Bytes allocated;
  simcore::Bytes reserved;
  cuda::BytesByKind by_kind{};  ///< parts of `allocated`
};

/// The allocation that first reached the most that was ever allocated.
struct MemoryPeak {
  std::uint32_t step = 0;
  simcore::Bytes allocated;
  std::string allocation;  ///< its name, e.g. "logits"
  cuda::MemoryKind kind = cuda::MemoryKind::other;
  std::string operation;  ///< the kernel or collective issued next; empty between steps
  std::string unit;       ///< "R" for the root, else the block's number; empty if none is named
  /// Unless it was in a step before the one of the timeline.
  std::optional<simcore::SimTime> time;
  std::optional<simcore::SimTime> device_time;
};

struct MemoryTimeline {
  std::vector<MemoryPoint> points;  ///< in the order of the CPU's calls
  std::optional<MemoryPeak> peak;   ///< none if nothing was ever allocated
};

/// The timeline of the log's step, every change a point. `step` is the same rank's log of the same
/// step, or null.
MemoryTimeline make_memory_timeline(const MemoryLog& log, const StepLog* step);

/// At most `most` >= 8 points: the first and the last, the first with the most allocated and the
/// first with the most reserved, and the highest and the lowest of equally many changes each.
std::vector<MemoryPoint> thin_out(const std::vector<MemoryPoint>& points, std::size_t most);

/// Most bytes allocated in each of `columns` > 0 equal stretches of [0, step), by device time.
std::vector<simcore::Bytes> memory_over_step(const std::vector<MemoryPoint>& points,
                                             simcore::SimTime step, int columns);

/// Unit in the name of an operation: "31" of "layers.31.ffn_norm" and "AG31", "R" of
/// "root.all_gather" and "AGR"; empty for a name without one.
std::string unit_in_name(const std::string& operation);
/// Name of the next kernel or collective from `op` on within its step; empty if there is none, as
/// where the model is set up.
std::string operation_after(const cuda::Program& program, std::uint32_t op);
/// Which step `op` belongs to; what comes before the first is part of it.
std::uint32_t step_of(const cuda::Program& program, std::uint32_t op);

}  // namespace shardsim::scenario
