// What a chunk-level run says about every message: the record that a run of the simulator and a
// log of real kernels have in common. docs/chunk-trace.md explains the fields.
//
// Models: a row for each slice that a channel of a rank receives and for each that it sends. Rows
// stand in the order of rank, channel and role; within a role in the order in which its program
// works, first what a slice receives, then what it sends. That order does not depend on time.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "simcore/time.hpp"

namespace shardsim::nccl {

enum class TraceAction : std::uint8_t {
  send,     ///< data go into the FIFO towards `peer`
  receive,  ///< data from `peer` are taken over, to be kept, handed on or both
  reduce,   ///< data from `peer` are added to what this rank has
  copy,     ///< a rank's own part, without a FIFO; `peer` is the rank itself
};
inline constexpr std::array<std::string_view, 4> trace_action_names{"send", "receive", "reduce",
                                                                    "copy"};

/// The peer of loads and stores that an NVLink switch adds up or multicasts.
inline constexpr std::int32_t all_peers = -1;

struct TraceRecord {
  std::int32_t rank = 0;     ///< in the communicator
  std::int32_t channel = 0;  ///< of the communicator
  /// Threads of the channel that work side by side. Trees: 0 reduces towards the root, 1 spreads
  /// from it (the root does both in 0). NVLS: 0 scatters, 1 reduces, 2 gathers, 3 spreads. PAT and
  /// messages: 0 sends, 1 receives. Rings: 0.
  std::int32_t role = 0;
  std::int64_t step = 0;   ///< of the FIFO, counted from 0 over the operation; slices take several
  std::int64_t chunk = 0;  ///< which piece of the data
  std::int32_t peer = 0;   ///< rank, or all_peers
  std::int64_t bytes = 0;  ///< of data, without flags; may be 0
  TraceAction action = TraceAction::send;

  bool operator==(const TraceRecord&) const = default;
};

/// When the slice was worked on, waiting for data and credit not included.
struct TraceTimes {
  simcore::SimTime start;
  simcore::SimTime end;
};

/// "size,rank,channel,role,step,chunk,peer,bytes,action,start_us,end_us" and a line break.
void write_trace_header(std::ostream& out);
/// `size`: bytes of the operation as nccl-tests counts them.
void write_trace_row(std::ostream& out, std::int64_t size, const TraceRecord& record,
                     const TraceTimes& times);

}  // namespace shardsim::nccl
