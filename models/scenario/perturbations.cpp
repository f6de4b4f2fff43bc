#include "models/scenario/perturbations.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "models/network/route_search.hpp"
#include "simcore/counter_random.hpp"

namespace shardsim::scenario {

using simcore::BitRate;
using simcore::SimTime;

namespace {

/// Bandwidths of links in time. Several entries for one link multiply, as slowdowns of a rank do.
std::vector<network::LinkChange> changes_of(const std::vector<PerturbationSpec>& specs,
                                            const network::Graph& graph) {
  struct Span {
    SimTime from;
    SimTime to;
    double share;
  };
  std::map<network::LinkId, std::vector<Span>> spans;
  for (const PerturbationSpec& one : specs) {
    if (!one.link) continue;
    const auto links = graph.links_named(*one.link);
    if (!links) continue;
    const Span span{one.at.value_or(SimTime{}), one.until.value_or(SimTime::never()),
                    one.bandwidth->value};
    for (const network::LinkId link : *links) spans[link].push_back(span);
  }
  std::vector<network::LinkChange> changes;
  for (const auto& [link, of_link] : spans) {
    std::set<SimTime> times;
    for (const Span& span : of_link) times.insert({span.from, span.to});
    times.erase(SimTime::never());
    for (const SimTime time : times) {
      double share = 1;
      for (const Span& span : of_link) {
        if (span.from <= time && time < span.to) share *= span.share;
      }
      const double usual = graph.links()[link].bandwidth.bytes_per_second;
      changes.push_back({time, link, BitRate{usual * share}});
    }
  }
  std::ranges::stable_sort(changes, {}, &network::LinkChange::at);
  return changes;
}

/// Never so fast that kernels would take no time.
double speed_factor(const JitterSpec& spec, std::uint64_t seed, std::size_t rank) {
  constexpr double least = 0.01;
  const cuda::Jitter spread{spec.distribution, spec.gpu.value, seed};
  return std::max(least,
                  spread.factor_at(simcore::CounterStream(seed, "gpu_speed", rank).uniform(0)));
}

}  // namespace

double Perturbations::slowdown(int rank) const {
  return slowdowns.empty() ? 1.0 : slowdowns[static_cast<std::size_t>(rank)];
}

const cuda::RankPace* Perturbations::pace(int rank) const {
  return paces.empty() ? nullptr : paces[static_cast<std::size_t>(rank)].get();
}

Perturbations resolve(const std::vector<PerturbationSpec>& specs, const network::Graph& graph,
                      int ranks) {
  Perturbations made;
  made.link_changes = changes_of(specs, graph);
  const auto count = static_cast<std::size_t>(ranks);
  const auto pace = [&made, count](std::size_t rank) -> cuda::RankPace& {
    made.paces.resize(count);
    if (!made.paces[rank]) made.paces[rank] = std::make_unique<cuda::RankPace>();
    return *made.paces[rank];
  };
  for (const PerturbationSpec& one : specs) {
    if (one.jitter) {
      made.jitter = true;
      const cuda::Jitter jitter{one.jitter->distribution, one.jitter->compute.value,
                                static_cast<std::uint64_t>(one.seed)};
      const auto first = static_cast<std::size_t>(one.rank.value_or(0));
      for (std::size_t rank = first; rank < (one.rank ? first + 1 : count); ++rank) {
        pace(rank).add_jitter(jitter, static_cast<int>(rank));
        if (one.jitter->gpu.value > 0) {
          made.slowdowns.resize(count, 1.0);
          made.slowdowns[rank] *= speed_factor(*one.jitter, jitter.seed, rank);
        }
      }
    }
    if (!one.rank) continue;
    const auto rank = static_cast<std::size_t>(*one.rank);
    if (one.compute_slowdown) {
      made.slowdowns.resize(count, 1.0);
      made.slowdowns[rank] *= *one.compute_slowdown;
    }
    if (one.pause) pace(rank).add_pause({one.pause->at, one.pause->length});
    if (one.dies_at) pace(rank).die_at(*one.dies_at);
  }
  return made;
}

std::vector<Colour> colours_of_ranks(const std::vector<PerturbationSpec>& specs, int ranks) {
  // What tells a rank apart: the entries that name it. Jitter is each rank's own.
  std::vector<Colour> colours(static_cast<std::size_t>(ranks), 0);
  Colour next = 1;
  const bool all_jitter = std::ranges::any_of(specs, [](const PerturbationSpec& one) {
    return one.jitter && (one.jitter->compute.value > 0 || one.jitter->gpu.value > 0) && !one.rank;
  });
  using Effect = std::vector<std::int64_t>;
  std::map<std::int64_t, Effect> effects;  // by rank
  for (const PerturbationSpec& one : specs) {
    if (!one.rank) continue;
    Effect& effect = effects[*one.rank];
    if (one.compute_slowdown) {
      effect.insert(effect.end(), {1, std::bit_cast<std::int64_t>(*one.compute_slowdown)});
    }
    if (one.pause) {
      effect.insert(effect.end(),
                    {2, one.pause->at.picoseconds(), one.pause->length.picoseconds()});
    }
    if (one.dies_at) effect.insert(effect.end(), {3, one.dies_at->picoseconds()});
    if (one.jitter) effect.insert(effect.end(), {4, *one.rank});
  }
  std::map<Effect, Colour> known;
  for (const auto& [rank, effect] : effects) {
    const auto [entry, is_new] = known.try_emplace(effect, next);
    if (is_new) ++next;
    colours[static_cast<std::size_t>(rank)] = entry->second;
  }
  if (all_jitter) {
    for (std::size_t rank = 0; rank < colours.size(); ++rank) {
      colours[rank] = static_cast<Colour>(rank);
    }
  }
  return colours;
}

std::vector<network::VertexId> nics_down_at_start(const std::vector<network::LinkChange>& changes,
                                                  const network::Graph& graph) {
  std::set<network::LinkId> dead;
  for (const network::LinkChange& change : changes) {
    if (change.at > SimTime{}) continue;
    if (graph.links()[change.link].kind != network::LinkKind::network) continue;
    if (change.bandwidth.bytes_per_second <= 0) dead.insert(change.link);
  }
  std::set<network::VertexId> touched;
  for (const network::LinkId link : dead) {
    touched.insert({graph.links()[link].from, graph.links()[link].to});
  }
  const network::RouteTerrain terrain = graph.terrain();
  const auto all_dead = [&](std::span<const network::Arc> arcs) {
    bool any = false;
    for (const network::Arc& arc : arcs) {
      if (graph.links()[arc.link].kind != network::LinkKind::network) continue;
      if (!dead.contains(arc.link)) return false;
      any = true;
    }
    return any;
  };
  std::vector<network::VertexId> down;
  for (const network::VertexId device : touched) {
    if (graph.vertices()[device].kind != network::DeviceKind::nic) continue;
    if (all_dead(terrain.adjacency.from(device)) || all_dead(terrain.adjacency.to(device))) {
      down.push_back(device);
    }
  }
  return down;
}

std::vector<Colour> colours_of_links(const network::Graph& graph,
                                     const std::vector<network::LinkChange>& changes) {
  using Key = std::vector<std::int64_t>;
  std::map<network::LinkId, Key> changed;
  for (const network::LinkChange& one : changes) {
    Key& key = changed[one.link];
    key.push_back(one.at.picoseconds());
    key.push_back(std::bit_cast<std::int64_t>(one.bandwidth.bytes_per_second));
  }
  std::map<Key, Colour> known;
  std::vector<Colour> colours;
  Key usual{0};
  for (network::LinkId link = 0; link < graph.links().size(); ++link) {
    usual[0] = std::bit_cast<std::int64_t>(graph.links()[link].bandwidth.bytes_per_second);
    const auto found = changed.find(link);
    Key key = usual;
    if (found != changed.end()) key.insert(key.end(), found->second.begin(), found->second.end());
    const auto next = static_cast<Colour>(known.size());
    colours.push_back(known.try_emplace(std::move(key), next).first->second);
  }
  return colours;
}

}  // namespace shardsim::scenario
