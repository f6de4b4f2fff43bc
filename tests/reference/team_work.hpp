// What one team of threads is given, as plain data that a GPU can read too.
//
// A team carries out one role of one rank on one channel: a CPU thread, or a thread block. Teams
// exchange data through connections: a FIFO of eight steps in the receiver's reach, with the number
// of steps that the sender has filled (tail) and that the receiver has emptied (head).
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardsim::reference {

enum class Collective : int {
  all_gather,
  reduce_scatter,
  all_reduce,
  broadcast,
  reduce,
  alltoall,
  sendrecv
};
enum class Algorithm : int { ring, tree, messages };
enum class Protocol : int { ll, ll128, simple };
enum class Action : int { send, receive, reduce, copy };

inline constexpr int fifo_steps = 8;
inline constexpr int most_links = 4;  ///< of a team in a ring or tree
inline constexpr int ll128_line_bytes = 128;
inline constexpr int ll128_data_bytes = 120;

/// One end of a connection.
struct Link {
  std::byte* fifo = nullptr;
  std::uint64_t* tail = nullptr;
  std::uint64_t* head = nullptr;
  int peer = 0;  ///< rank at the other end
};

/// A part of a message, for the team that sends it or receives it.
struct Message {
  int peer = 0;
  int link = -1;           ///< of the team's; -1: to the rank itself
  std::int64_t place = 0;  ///< bytes from the start of the rank's buffer
  std::int64_t bytes = 0;
};

/// A row of the log; docs/chunk-trace.md.
struct LogRow {
  std::int64_t step = 0;
  std::int64_t chunk = 0;
  std::int64_t bytes = 0;
  int peer = 0;
  Action action = Action::send;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
};

struct TeamWork {
  Collective collective = Collective::all_gather;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int rank = 0;
  int ranks = 0;
  int channel = 0;
  int role = 0;
  int element_bytes = 1;
  int slices = 1;
  int slice_steps = 1;
  std::int64_t step_bytes = 0;  ///< of a FIFO step, with flags
  std::int64_t chunk_bytes = 0;
  std::int64_t offset = 0;      ///< of the channel in a rank's part, or in the buffer
  std::int64_t bytes = 0;       ///< likewise
  std::int64_t part_bytes = 0;  ///< a rank's part of the larger buffer
  const int* ring = nullptr;    ///< ranks by position
  int position = 0;             ///< of this rank
  int root_position = 0;
  bool at_root = false;  ///< of the tree
  const Link* inputs = nullptr;
  int input_count = 0;
  const Link* outputs = nullptr;
  int output_count = 0;
  const Message* messages = nullptr;
  int message_count = 0;
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
  LogRow* rows = nullptr;
  std::int64_t row_limit = 0;
};

/// An end of a connection before there is memory for it.
struct LinkEnd {
  int connection = 0;
  int peer = 0;
};

/// A team's work without its pointers, and where in the arrays of all teams its things begin.
struct TeamPlan {
  TeamWork work;
  std::size_t first_input = 0;
  std::size_t first_output = 0;
  std::size_t first_message = 0;
  std::size_t ring = 0;
  std::int64_t rows = 0;  ///< that it logs
};

}  // namespace shardsim::reference
