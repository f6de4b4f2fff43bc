// The parts of which the program of a channel is made: primitives, and the connections between the
// ranks that carry them out.
//
// Models: a worker is the threads of one role on one rank's channel; it carries out primitives one
// after the other. A primitive takes one chunk from some of the worker's inputs and puts it into
// some of its outputs, slice by slice. Inputs and outputs are connections with a FIFO of eight
// steps; a connection has one sending and one receiving worker.
// Source: NVIDIA/nccl 2.30.7, src/device/primitives.h, prims_simple.h, prims_ll.h, prims_ll128.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/chunk/trace_record.hpp"
#include "models/nccl/schedule_chunks.hpp"
#include "simcore/integer.hpp"

namespace shardsim::nccl {

/// What limits the time in which a primitive moves its bytes.
enum class Work : std::uint8_t {
  move,     ///< into a connection: the pace of the channel
  keep,     ///< out of the FIFO into the rank's own buffer
  scatter,  ///< to and from the staging buffers of NVLink switches
  multicast,
};
inline constexpr std::size_t work_count = 4;

struct Primitive {
  std::int64_t chunk = 0;
  std::int64_t bytes = 0;
  std::uint16_t first_input = 0;  ///< of the worker's
  std::uint16_t inputs = 0;
  std::uint16_t first_output = 0;
  std::uint16_t outputs = 0;
  bool reduces = false;
  Work work = Work::move;
};

enum class ConnectionKind : std::uint8_t { inside, between, by_switch };
inline constexpr std::size_t connection_kinds = 3;

struct ConnectionEnds {
  std::int32_t from = 0;  ///< workers
  std::int32_t to = 0;
  ConnectionKind kind = ConnectionKind::inside;
};

struct WorkerPlace {
  std::int32_t rank = 0;
  std::int32_t role = 0;
  std::uint32_t first_input = 0;  ///< in ChannelLayout::inputs
  std::uint32_t inputs = 0;
  std::uint32_t first_output = 0;
  std::uint32_t outputs = 0;
};

/// Who takes part in a channel. Connections by number; workers by rank, then role.
struct ChannelLayout {
  std::vector<WorkerPlace> workers;
  std::vector<ConnectionEnds> connections;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> outputs;

  std::span<const std::uint32_t> inputs_of(std::size_t worker) const {
    return std::span(inputs).subspan(workers[worker].first_input, workers[worker].inputs);
  }
  std::span<const std::uint32_t> outputs_of(std::size_t worker) const {
    return std::span(outputs).subspan(workers[worker].first_output, workers[worker].outputs);
  }
};

/// How a chunk is cut into slices.
struct Slicing {
  int slices = 1;                ///< of a chunk
  int steps = 1;                 ///< of a slice
  std::int64_t least = 0;        ///< bytes of a slice
  std::int64_t grain_bytes = 1;  ///< 16 elements

  /// Messages that a FIFO holds.
  int window() const { return steps_per_buffer / steps; }

  std::int64_t slice_bytes(std::int64_t chunk_bytes) const {
    if (slices == 1) return chunk_bytes;
    const std::int64_t grains = grain_bytes * slices;
    return std::max(simcore::divide_up(chunk_bytes, grains) * grain_bytes, least);
  }
};

/// `buffer_bytes` of a connection; `element_bytes` by which the operation is counted.
inline Slicing slicing_of(const Chunking& chunking, std::int64_t buffer_bytes, int element_bytes) {
  Slicing made;
  made.steps = chunking.slice_steps;
  made.slices = chunking.chunk_steps / chunking.slice_steps;
  made.least = buffer_bytes / steps_per_buffer * chunking.slice_steps / 32;
  made.grain_bytes = std::int64_t{16} * element_bytes;
  return made;
}

}  // namespace shardsim::nccl
