#include "models/nccl/node_layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shardsim::nccl {

using network::DeviceKind;
using network::Graph;
using network::VertexId;

namespace {

void find_ports(const Graph& graph, Domain& domain) {
  std::size_t rounds = 0;
  for (const int rank : domain.ranks) {
    domain.nics.push_back(graph.rail_nics(rank));
    rounds = std::max(rounds, domain.nics.back().size());
  }
  std::vector<VertexId> taken;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < domain.ranks.size(); ++i) {
      const auto free = std::ranges::find_if(domain.nics[i], [&taken](VertexId nic) {
        return std::ranges::find(taken, nic) == taken.end();
      });
      if (free == domain.nics[i].end()) continue;
      domain.ports.push_back(Port{domain.ranks[i], *free});
      taken.push_back(*free);
    }
  }
  if (domain.ports.empty()) domain.ports.push_back(Port{domain.ranks.front(), std::nullopt});
}

}  // namespace

std::optional<VertexId> nvswitch_of(const Graph& graph, int rank) {
  for (const network::LinkId link : graph.links_from(graph.gpu(rank))) {
    const VertexId to = graph.links()[link].to;
    if (graph.vertices()[to].kind == DeviceKind::nvswitch) return to;
  }
  return std::nullopt;
}

std::vector<Domain> find_domains(const Graph& graph, std::span<const int> group) {
  std::vector<Domain> domains;
  // Ranks behind one switch are together, others by host. Hosts are numbered apart from vertices.
  std::map<std::pair<bool, std::int64_t>, std::size_t> index;
  for (const int rank : group) {
    const auto nvswitch = nvswitch_of(graph, rank);
    const auto key = nvswitch ? std::pair<bool, std::int64_t>{true, *nvswitch}
                              : std::pair<bool, std::int64_t>{false, graph.node_of(rank)};
    const auto [entry, is_new] = index.try_emplace(key, domains.size());
    if (is_new) domains.emplace_back().nvswitch = nvswitch;
    domains[entry->second].ranks.push_back(rank);
  }
  for (Domain& domain : domains) {
    std::ranges::sort(domain.ranks, {}, [&graph](int rank) {
      return std::tuple(graph.node_of(rank), graph.local_index(rank));
    });
    find_ports(graph, domain);
  }
  return domains;
}

std::optional<int> sharer_of(const Domain& domain, const Port& port) {
  if (!port.nic) return std::nullopt;
  const std::size_t count = domain.ranks.size();
  const auto own =
      static_cast<std::size_t>(std::ranges::find(domain.ranks, port.rank) - domain.ranks.begin());
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t i = (own + step) % count;
    if (std::ranges::find(domain.nics[i], *port.nic) != domain.nics[i].end()) {
      return domain.ranks[i];
    }
  }
  return std::nullopt;
}

}  // namespace shardsim::nccl
