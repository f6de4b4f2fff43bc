#include "models/cuda/rank_pace.hpp"

#include <algorithm>

namespace shardsim::cuda {

using simcore::SimTime;

void RankPace::add_jitter(const Jitter& jitter, int rank) {
  if (jitter.deviation == 0) return;
  const auto index = static_cast<std::uint64_t>(rank);
  jitters_.push_back({jitter, simcore::CounterStream(jitter.seed, "compute_jitter", index)});
}

void RankPace::add_pause(const Pause& pause) { add_stop({pause.from, pause.from + pause.length}); }

void RankPace::die_at(SimTime time) {
  dies_ = std::min(dies_, time);
  add_stop({time, SimTime::never()});
}

void RankPace::add_stop(Stop stop) {
  stops_.push_back(stop);
  std::ranges::sort(stops_, {}, &Stop::from);
  std::vector<Stop> merged;
  for (const Stop& one : stops_) {
    if (!merged.empty() && one.from <= merged.back().to) {
      merged.back().to = std::max(merged.back().to, one.to);
    } else {
      merged.push_back(one);
    }
  }
  stops_ = std::move(merged);
}

double RankPace::factor(std::uint32_t op) const {
  double product = 1;
  for (const Drawn& one : jitters_) product *= one.jitter.factor_at(one.stream.uniform(op));
  return product;
}

SimTime RankPace::after(SimTime from, SimTime work) const {
  SimTime end = from + work;
  for (const Stop& stop : stops_) {
    if (stop.to <= from) continue;
    if (stop.from >= end && !(stop.from <= from)) break;
    if (stop.to == SimTime::never()) return SimTime::never();
    end += stop.to - std::max(stop.from, from);
  }
  return end;
}

SimTime RankPace::worked(SimTime from, SimTime to) const {
  SimTime done = to - from;
  for (const Stop& stop : stops_) {
    const SimTime begin = std::max(stop.from, from);
    const SimTime end = std::min(stop.to, to);
    if (end > begin) done -= end - begin;
  }
  return done;
}

}  // namespace shardsim::cuda
