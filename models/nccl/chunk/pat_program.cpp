#include "models/nccl/chunk/pat_program.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace shardsim::nccl {

namespace {

/// Messages received before a message that is sent, at least so many places before it.
constexpr int most_behind = 4;

int lowest_bit(int offset) { return std::countr_zero(static_cast<unsigned>(offset)); }

}  // namespace

PatProgram::PatProgram(const ChannelLoad& load, int ranks)
    : load_(load), plan_(pat_plan(load.collective, ranks, load.bytes, load.chunk_bytes)) {
  full_loops_ = load.bytes / load.chunk_bytes;
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
  const auto entry = [&](int i, bool sends) {
    const PatMessage& message = messages[static_cast<std::size_t>(i)];
    return Entry{static_cast<std::uint16_t>(message.dimension),
                 static_cast<std::uint32_t>(message.offsets.size()), sends};
  };
  const int count = static_cast<int>(messages.size());
  int received = 0;
  for (int i = 0; i < count; ++i) {
    const int until = std::max(needed_by(messages[static_cast<std::size_t>(i)]), i - most_behind);
    for (; received <= until; ++received) order_.push_back(entry(received, false));
    order_.push_back(entry(i, true));
  }
  for (; received < count; ++received) order_.push_back(entry(received, false));
}

Primitive PatProgram::at(std::int32_t, std::int64_t loop, int index) const {
  const Entry& entry = order_[static_cast<std::size_t>(index)];
  const std::int64_t chunk_bytes =
      loop < full_loops_ ? load_.chunk_bytes : load_.bytes - full_loops_ * load_.chunk_bytes;
  Primitive made;
  made.chunk = loop;
  made.bytes = chunk_bytes * entry.chunks;
  if (entry.sends) {
    made.first_output = entry.dimension;
    made.outputs = 1;
  } else {
    made.first_input = entry.dimension;
    made.inputs = 1;
    made.reduces = load_.collective == Collective::reduce_scatter;
    made.work = Work::keep;
  }
  return made;
}

}  // namespace shardsim::nccl
