#include "models/cuda/runtime.hpp"

#include <memory>
#include <utility>

#include "models/cuda/rank.hpp"

namespace shardsim::cuda {

struct Runtime::State {
  State(const RuntimeSpec& given, simcore::EventQueue& queue, simcore::EventReceiver& receiver,
        CollectiveBackend& backend, const Runtime& runtime)
      : spec(given), context{spec, queue, receiver, backend, runtime, out_of_memory} {}

  struct Place {
    std::uint32_t slot = 0;
    CommunicatorId communicator = 0;
  };
  /// "AG3 on communicator shard is waiting for its peers: rank 5"; empty if none of the members
  /// waits for another.
  std::string who_is_missing(const std::vector<Place>& members) const;

  const RuntimeSpec spec;
  std::optional<OutOfMemory> out_of_memory;
  RankContext context;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::vector<Place>> places;  ///< [instance][member]
};

std::string Runtime::State::who_is_missing(const std::vector<Place>& members) const {
  constexpr std::size_t most_named = 8;
  std::string name;
  std::string missing;
  std::size_t count = 0;
  for (const Place& place : members) {
    const Rank& rank = *ranks[place.slot];
    const std::string here = rank.collective_on(place.communicator);
    if (!here.empty()) {
      if (name.empty()) name = here + " on communicator " + rank.role(place.communicator);
      continue;
    }
    if (++count > most_named) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(rank.rank());
  }
  if (name.empty() || count == 0) return {};
  if (count > most_named) missing += " and " + std::to_string(count - most_named) + " more";
  return name + " is waiting for its peers: rank" + (count == 1 ? " " : "s ") + missing;
}

Runtime::Runtime(const RuntimeSpec& spec, std::vector<RankSetup> ranks, CollectiveBackend& backend,
                 simcore::EventQueue& queue)
    : state_(new State(spec, queue, *this, backend, *this)) {
  for (std::uint32_t slot = 0; slot < ranks.size(); ++slot) {
    const RankSetup& setup = ranks[slot];
    for (std::size_t id = 0; id < setup.communicators.size(); ++id) {
      const Membership& place = setup.communicators[id];
      if (state_->places.size() <= place.instance) state_->places.resize(place.instance + 1);
      auto& members = state_->places[place.instance];
      if (members.size() <= place.member) members.resize(place.member + 1);
      members[place.member] = State::Place{slot, static_cast<CommunicatorId>(id)};
    }
    state_->ranks.push_back(std::make_unique<Rank>(state_->context, setup, slot));
  }
  backend.attach(*this);
}

Runtime::~Runtime() = default;

void Runtime::start() {
  if (allocator_acted.has_listeners()) {
    for (const auto& rank : state_->ranks) rank->record_allocator();
  }
  for (const auto& rank : state_->ranks) rank->run();
}

void Runtime::on_event(const simcore::Event& event) {
  state_->ranks[event.payload >> 16]->on_event(static_cast<RankEvent>(event.kind),
                                               static_cast<std::uint32_t>(event.payload & 0xffff));
}

void Runtime::collective_began(std::uint32_t instance) {
  for (const State::Place& place : state_->places[instance]) {
    state_->ranks[place.slot]->collective_moves(place.communicator);
  }
}

void Runtime::member_finished(std::uint32_t instance, std::uint32_t member) {
  const State::Place& place = state_->places[instance][member];
  state_->ranks[place.slot]->collective_ended(place.communicator);
}

bool Runtime::finished() const {
  for (const auto& rank : state_->ranks) {
    if (!rank->finished()) return false;
  }
  return true;
}

const std::optional<OutOfMemory>& Runtime::out_of_memory() const { return state_->out_of_memory; }

bool Runtime::can_go_on(std::uint32_t slot) const { return state_->ranks[slot]->can_go_on(); }

std::vector<std::string> Runtime::deadlock_report() const {
  std::vector<std::string> lines;
  for (const auto& members : state_->places) {
    if (std::string line = state_->who_is_missing(members); !line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  for (const auto& rank : state_->ranks) {
    if (!rank->finished()) lines.push_back(rank->describe_wait());
  }
  return lines;
}

const AllocatorStatistics& Runtime::memory(std::uint32_t slot) const {
  return state_->ranks[slot]->memory();
}

std::vector<SegmentSnapshot> Runtime::memory_snapshot(std::uint32_t slot) const {
  return state_->ranks[slot]->memory_snapshot();
}

}  // namespace shardsim::cuda
