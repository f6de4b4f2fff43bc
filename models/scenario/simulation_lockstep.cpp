// Many simulated ranks: all of them at once for their times, then a few again for the details.
#include <algorithm>
#include <utility>

#include "models/scenario/simulation_state.hpp"

namespace shardsim::scenario {

using simcore::SimTime;

bool Simulation::State::start_lockstep() {
  if (ranks.size() <= options.most_logged || !experiment.others.empty()) return false;
  lockstep_ranks = std::move(ranks);
  lockstep = cuda::LockstepRun::make(experiment.runtime, lockstep_ranks, backend, queue);
  if (!lockstep) {
    ranks = std::move(lockstep_ranks);
    return false;
  }
  for (const cuda::Op& op : experiment.program->ops) {
    if (op.code == cuda::OpCode::step_begin && op.index == first_measured()) break;
    if (op.code == cuda::OpCode::collective) ++first_measured_collective;
  }
  return true;
}

/// Nothing left to do only if a collective cannot end.
bool Simulation::State::advance_lockstep() {
  if (lockstep->collectives().size() == first_measured_collective) {
    flows.reset_statistics();
    statistics_begin = queue.now();
  }
  if (lockstep->advance()) return !violated() && now() <= latest_moment;
  if (!lockstep->finished() || violated()) return false;
  replay_some();
  return true;
}

std::vector<std::uint32_t> Simulation::State::slots_to_replay() const {
  // The measured steps of each rank; the first of the slowest is shown.
  std::vector<SimTime> sums(lockstep_ranks.size());
  for (std::uint32_t step = first_measured(); step < steps(); ++step) {
    for (std::size_t slot = 0; slot < sums.size(); ++slot) {
      sums[slot] += lockstep->step_ends()[step][slot] - lockstep->step_begins()[step][slot];
    }
  }
  std::uint32_t slowest = 0;
  for (std::uint32_t slot = 1; slot < sums.size(); ++slot) {
    const auto pace = [this](std::uint32_t one) { return lockstep_ranks[one].compute_slowdown; };
    if (sums[slot] > sums[slowest] || (sums[slot] == sums[slowest] && pace(slot) > pace(slowest))) {
      slowest = slot;
    }
  }
  std::set<std::uint32_t> chosen = named_slots();
  chosen.insert(slowest);
  return {chosen.begin(), chosen.end()};
}

std::set<std::uint32_t> Simulation::State::named_slots() const {
  std::set<std::uint32_t> chosen{0};
  const auto add = [&](std::int64_t rank) {
    if (rank >= static_cast<std::int64_t>(experiment.layout.slot_of_rank.size())) return;
    chosen.insert(experiment.layout.slot_of_rank[static_cast<std::size_t>(rank)]);
  };
  for (const int rank : options.ranks) add(rank);
  constexpr std::size_t most_named = 16;
  for (const PerturbationSpec& one : experiment.scenario.spec.perturb) {
    if (one.rank && chosen.size() < most_named) add(*one.rank);
  }
  return chosen;
}

void Simulation::State::replay_some() {
  replayed = slots_to_replay();
  ranks.clear();
  for (const std::uint32_t slot : replayed) {
    cuda::RankSetup setup = lockstep_ranks[slot];
    for (cuda::Membership& place : setup.communicators) {
      place.member = static_cast<std::uint32_t>(ranks.size());
    }
    ranks.push_back(std::move(setup));
  }
  own_slots = own_left = ranks.size();
  job_of_slot.assign(ranks.size(), 0);
  step_begin.assign(ranks.size(), SimTime{});
  retries_in_warmup.assign(ranks.size(), 0);
  step_times.assign(ranks.size(), {});
  persistent.assign(ranks.size(), simcore::Bytes{});
  replay = std::make_unique<cuda::ReplayBackend>(replay_queue, lockstep->collectives(),
                                                 static_cast<std::uint32_t>(ranks.size()));
  start_runtime(*replay, replay_queue);
}

std::uint64_t Simulation::State::events() const {
  return queue.handled() + replay_queue.handled() + (lockstep ? lockstep->operations() : 0);
}

}  // namespace shardsim::scenario
