// A PyTorch memory snapshot: what torch.cuda.memory._dump_snapshot writes, from the simulated
// allocator, so that PyTorch's own viewer (torch/utils/viz/MemoryViz.js, pytorch.org/memory_viz)
// shows it.
//
// Source of the format: torch/csrc/cuda/memory_snapshot.cpp and torch/cuda/memory.py
// (_snapshot). Frames, of which the simulator has none, hold one line: the operation that the
// memory is for, the operation's place in the program, and the allocation's name. Every allocation
// carries its kind as the category by which the viewer colours. Leaves out annotations, compile
// contexts and pools of CUDA graphs.
#pragma once

#include <ostream>
#include <vector>

#include "models/cuda/allocator_snapshot.hpp"
#include "models/cuda/allocator_spec.hpp"
#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"

namespace shardsim::scenario {

/// One rank's allocator: what it did from the start of the run, and where everything lies now.
struct AllocatorTrace {
  const cuda::Program* program = nullptr;
  cuda::AllocatorSpec spec;
  std::vector<cuda::AllocatorRecord> records;
  std::vector<cuda::SegmentSnapshot> segments;
};

/// A pickle of protocol 2; `out` must take bytes as they are.
void write_memory_snapshot(std::ostream& out, const AllocatorTrace& trace);

}  // namespace shardsim::scenario
