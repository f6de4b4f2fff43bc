// Messages between ranks at chunk level: all-to-all and send-receive.
//
// Models: each channel of a rank sends its parts one after another in the order of the rounds, and
// receives beside that; a connection's FIFO holds eight chunks, and where the network lies between
// as many on either side of it. A chunk takes what its bytes take at the channel's pace, then the
// synchronisation of the hop. Pace: all channels of a rank together send as the flow of the same
// messages does, and the fullest channel ends with it.
// Rounds are the same for all ranks, so that each chunk's time follows from those of earlier ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/chunk/channel_engine.hpp"
#include "models/nccl/chunk/chunk_result.hpp"
#include "models/nccl/chunk/chunk_work.hpp"
#include "models/nccl/chunk/message_schedule.hpp"
#include "models/nccl/collective_timing.hpp"

namespace shardsim::nccl {

class MessageExchange {
 public:
  /// `kind` is alltoall or sendrecv; `transfer` as for message_timing().
  MessageExchange(const MessageRules& rules, const TimingConstants& constants,
                  cuda::CollectiveKind kind, const TimedTransfer& transfer);

  const MessageCut& cut() const { return cut_; }
  ChunkResult run() const;
  /// Every message, in the order of the trace. Times count from the start of the kernels.
  void trace(const TraceVisitor& visit) const;
  /// What the kernels are told. `buffer_bytes` of a connection, by protocol.
  ChunkWork work(const PerProtocol<std::int64_t>& buffer_bytes) const;

 private:
  struct Row {
    TraceRecord record;
    TraceTimes times;
  };
  /// What a channel of all ranks has done so far; rows only if they are asked for.
  struct ChannelState {
    int channel = 0;
    std::vector<std::int64_t> send_free_ps;  ///< by rank
    std::vector<std::int64_t> receive_free_ps;
    std::vector<std::vector<Row>>* sent = nullptr;
    std::vector<std::vector<Row>>* received = nullptr;
    std::int64_t messages = 0;
  };

  bool wanted(int from, int to) const;
  std::int64_t part_bytes(int part) const;
  void run_channel(ChannelState& state) const;
  void send_part(ChannelState& state, int from, int to, std::int64_t bytes) const;
  bool between(int a, int b) const {
    return a / rules_.ranks_per_node != b / rules_.ranks_per_node;
  }

  MessageRules rules_;
  cuda::CollectiveKind kind_;
  std::int64_t bytes_ = 0;  ///< of one message
  MessageCut cut_;
  std::vector<MessageRound> rounds_;
  double start_us_ = 0;
  double ps_per_byte_ = 0;
  HopCost inside_;
  HopCost between_;
};

}  // namespace shardsim::nccl
