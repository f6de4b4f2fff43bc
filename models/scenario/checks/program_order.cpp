#include "models/scenario/checks/program_order.hpp"

#include <algorithm>

namespace shardsim::scenario {

using cuda::Op;
using cuda::OpCode;

namespace {

using Launches = std::vector<std::uint32_t>;

void add(Launches& to, const Launches& more) {
  to.insert(to.end(), more.begin(), more.end());
  std::ranges::sort(to);
  const auto rest = std::ranges::unique(to);
  to.erase(rest.begin(), rest.end());
}

}  // namespace

ProgramOrder::ProgramOrder(const cuda::Program& program) : places_(program.ops.size()) {
  std::vector<Launches> streams(program.streams.size());  // what a stream's next operation awaits
  std::vector<Launches> events(program.event_count);
  Launches communicators(program.communicators.size(), none);
  std::uint32_t wait = none;
  const auto keep = [this](Place& place, const Launches& launches) {
    place.first = static_cast<std::uint32_t>(after_.size());
    place.count = static_cast<std::uint32_t>(launches.size());
    after_.insert(after_.end(), launches.begin(), launches.end());
  };
  for (std::uint32_t number = 0; number < program.ops.size(); ++number) {
    const Op& op = program.ops[number];
    Place& place = places_[number];
    place.wait = wait;
    Launches& stream = streams[op.stream];
    switch (op.code) {
      case OpCode::kernel:
      case OpCode::collective: {
        if (op.code == OpCode::collective) {
          std::uint32_t& last = communicators[program.collectives[op.index].communicator];
          if (last != none) add(stream, {last});
          last = launches_;
        }
        keep(place, stream);
        place.launch = launches_++;
        stream = {place.launch};
        break;
      }
      case OpCode::record_event:
        events[op.index] = stream;
        break;
      case OpCode::stream_wait_event:
        add(stream, events[op.index]);
        break;
      case OpCode::cpu_wait_event:
        keep(place, events[op.index]);
        wait = number;
        break;
      case OpCode::device_synchronize: {
        Launches all;
        for (const Launches& one : streams) add(all, one);
        keep(place, all);
        wait = number;
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace shardsim::scenario
