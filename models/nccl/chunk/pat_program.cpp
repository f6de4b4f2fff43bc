#include "models/nccl/chunk/pat_program.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

namespace {

/// Messages received before a message that is sent, at least so many places before it.
constexpr int most_behind = 4;

int lowest_bit(int offset) { return std::countr_zero(static_cast<unsigned>(offset)); }

}  // namespace

PatProgram::PatProgram(const ChannelLoad& load, int ranks)
    : load_(load), plan_(pat_plan(load.collective, ranks, load.bytes, load.chunk_bytes)) {
  full_rounds_ = load.bytes / load.chunk_bytes;
  find_order();
}

int PatProgram::dimensions() const {
  return std::bit_width(static_cast<unsigned>(plan_.ranks - 1));
}

void PatProgram::find_order() {
  const std::vector<PatMessage>& messages = plan_.messages;
  std::map<int, int> message_of;  // offset -> message that carries it
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const int offset : messages[i].offsets) message_of[offset] = static_cast<int>(i);
  }
  const auto needed_by = [&](const PatMessage& message) {
    int last = -1;
    const auto need = [&](int offset) {
      const auto found = message_of.find(offset);
      if (found != message_of.end()) last = std::max(last, found->second);
    };
    for (const int offset : message.offsets) {
      const int bit = lowest_bit(offset);
      if (load_.collective == Collective::all_gather) {
        need(offset - (1 << bit));
      } else {
        for (int below = 0; below < bit; ++below) need(offset + (1 << below));
      }
    }
    return last;
  };
  // Positions go on through the rounds; those below 0 are of earlier ones. `received` is up to
  // where, relative to this round, a rank has received; a round leaves it as it found it.
  const int count = static_cast<int>(messages.size());
  const auto add = [&](int position, bool sends) {
    const int rounds_before = position < 0 ? simcore::divide_up(-position, count) : 0;
    most_late_ = std::max(most_late_, rounds_before);
    const PatMessage& message =
        messages[static_cast<std::size_t>(position + rounds_before * count)];
    order_.push_back({static_cast<std::uint16_t>(message.dimension),
                      static_cast<std::uint32_t>(message.offsets.size()), sends, rounds_before});
  };
  std::vector<int> until;
  for (int i = 0; i < count; ++i) {
    const int needed = needed_by(messages[static_cast<std::size_t>(i)]);
    until.push_back(needed < 0 ? i - most_behind : std::max(needed, i - most_behind));
  }
  int received = *std::ranges::max_element(until) + 1 - count;
  for (int i = 0; i < count; ++i) {
    for (; received <= until[static_cast<std::size_t>(i)]; ++received) add(received, false);
    add(i, true);
  }
}

Primitive PatProgram::at(std::int32_t, std::int64_t loop, int index) const {
  const Entry& entry = order_[static_cast<std::size_t>(index)];
  const std::int64_t round = loop - entry.rounds_before;
  Primitive made;
  made.chunk = round;
  made.work = Work::keep;
  if (round < 0 || round >= plan_.rounds) return made;  // there is none
  const std::int64_t chunk_bytes =
      round < full_rounds_ ? load_.chunk_bytes : load_.bytes - full_rounds_ * load_.chunk_bytes;
  made.bytes = chunk_bytes * entry.chunks;
  if (entry.sends) {
    made.first_output = entry.dimension;
    made.outputs = 1;
    made.work = Work::move;
  } else {
    made.first_input = entry.dimension;
    made.inputs = 1;
    made.reduces = load_.collective == Collective::reduce_scatter;
  }
  return made;
}

}  // namespace shardsim::nccl
