#include "models/nccl/ring_plan.hpp"

#include <algorithm>
#include <utility>

#include "models/nccl/nvlink_mesh.hpp"

namespace shardsim::nccl {

using network::Graph;

namespace {

/// How one ring passes one node.
struct Passage {
  Port enter;
  Port leave;
  std::optional<int> via_rank = std::nullopt;
};

/// All ranks of the domain from where the ring enters to where it leaves.
std::vector<int> walk(const Graph& graph, const Domain& domain, int enter, int leave) {
  if (enter != leave && !domain.nvswitch) {
    if (auto path = NvlinkMesh(graph, domain.ranks).path(enter, leave)) return *path;
  }
  const auto count = static_cast<std::ptrdiff_t>(domain.ranks.size());
  const auto at = [&](std::ptrdiff_t i) {
    return domain.ranks[static_cast<std::size_t>((i + count) % count)];
  };
  const auto start = std::ranges::find(domain.ranks, enter) - domain.ranks.begin();
  const std::ptrdiff_t step = at(start + 1) == leave ? -1 : 1;
  std::vector<int> order{enter};
  for (std::ptrdiff_t i = 1; i < count; ++i) {
    const int rank = at((start + step * i) % count);
    if (rank != leave) order.push_back(rank);
  }
  if (leave != enter) order.push_back(leave);
  return order;
}

/// How a ring passes a node if its port has no partner.
Passage pass_alone(const Graph& graph, const Domain& domain, const Port& port) {
  if (domain.ranks.size() == 1) return {port, port};
  const auto own = std::ranges::find(domain.ranks, port.rank) - domain.ranks.begin();
  const auto next = (own + 1) % static_cast<std::ptrdiff_t>(domain.ranks.size());
  const int last = domain.ranks[static_cast<std::size_t>(next)];
  const bool by_nvlink =
      domain.nvswitch || graph.find_link(graph.gpu(last), graph.gpu(port.rank)).has_value();
  return {port, Port{last, port.nic}, by_nvlink ? std::optional(port.rank) : std::nullopt};
}

Passage pass(const Graph& graph, const Domain& domain, std::size_t ring, std::size_t rings,
             bool swapped) {
  const Port& own = domain.ports[ring];
  if (const auto sharer = sharer_of(domain, own)) return {own, Port{*sharer, own.nic}};
  const std::size_t other = ring ^ 1;
  if (other < rings && domain.ports[other].rank != own.rank) {
    const Port& partner = domain.ports[other];
    return swapped ? Passage{partner, own} : Passage{own, partner};
  }
  return pass_alone(graph, domain, own);
}

Ring close(std::vector<int> order) {
  Ring ring{std::move(order), {}};
  if (ring.order.size() < 2) return ring;
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    ring.hops.push_back(
        Hop{.from_rank = ring.order[i], .to_rank = ring.order[(i + 1) % ring.order.size()]});
  }
  return ring;
}

std::vector<Ring> rings_inside(const Graph& graph, const Domain& domain) {
  std::vector<Ring> rings;
  if (!domain.nvswitch) {
    for (auto& order : NvlinkMesh(graph, domain.ranks).rings()) {
      rings.push_back(close(std::move(order)));
    }
  }
  if (rings.empty()) rings.push_back(close(domain.ranks));
  return rings;
}

Ring ring_between(const Graph& graph, std::span<const Domain> domains, std::size_t ring,
                  std::size_t rings) {
  std::vector<Passage> passages;
  std::vector<int> order;
  std::vector<std::size_t> leaves_at;  // by node, index into the order
  for (std::size_t d = 0; d < domains.size(); ++d) {
    passages.push_back(pass(graph, domains[d], ring, rings, d % 2 == 1));
    const auto inside = walk(graph, domains[d], passages[d].enter.rank, passages[d].leave.rank);
    order.insert(order.end(), inside.begin(), inside.end());
    leaves_at.push_back(order.size() - 1);
  }
  Ring made = close(std::move(order));
  for (std::size_t d = 0; d < domains.size(); ++d) {
    Hop& hop = made.hops[leaves_at[d]];
    const Port& enter = passages[(d + 1) % domains.size()].enter;
    hop.between_nodes = true;
    if (!passages[d].leave.nic || !enter.nic) continue;
    hop.via_rank = passages[d].via_rank;
    hop.out_nic = passages[d].leave.nic;
    hop.in_nic = enter.nic;
  }
  return made;
}

}  // namespace

RingPlan plan_rings(const Graph& graph, std::span<const Domain> domains) {
  RingPlan plan;
  plan.nodes = static_cast<int>(domains.size());
  std::size_t rings = domains.front().ports.size();
  for (const Domain& domain : domains) {
    plan.ranks += static_cast<int>(domain.ranks.size());
    rings = std::min(rings, domain.ports.size());
  }
  if (domains.size() == 1) {
    plan.rings = rings_inside(graph, domains.front());
  } else {
    for (std::size_t ring = 0; ring < rings; ++ring) {
      plan.rings.push_back(ring_between(graph, domains, ring, rings));
    }
  }
  return plan;
}

}  // namespace shardsim::nccl
