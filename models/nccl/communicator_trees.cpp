// Patterns of a communicator in which data are added up on the way to a few and spread from there:
// trees between nodes, chains and NVLink switches within them.
#include <algorithm>
#include <tuple>
#include <utility>

#include "models/nccl/communicator_plan.hpp"
#include "models/nccl/double_binary_tree.hpp"

namespace shardsim::nccl {

namespace {

/// The node's ranks from `first` on, in the order in which a ring passes them.
std::vector<int> chain_from(const Ring& ring, const Domain& domain, int first) {
  std::vector<int> chain;
  for (const int rank : ring.order) {
    if (std::ranges::find(domain.ranks, rank) != domain.ranks.end()) chain.push_back(rank);
  }
  if (!chain.empty() && chain.back() == first) std::ranges::reverse(chain);
  const auto start = std::ranges::find(chain, first);
  if (start != chain.end()) std::ranges::rotate(chain, start);
  return chain;
}

}  // namespace

// Inside an NVLink switch that reduces and multicasts, every GPU is the head of 1/n of the data.
// All-reduce: the heads' reads take the GPU's whole buffer out and bring 1/n back reduced; its
// multicast stores send that 1/n and the stores of all heads deliver the whole: 1 + 1/n bytes each
// way per byte reduced. A gather is the second half of it, a scatter the first.
void CommunicatorPlan::add_multicast(TrafficBuilder& builder, std::size_t group,
                                     Pattern pattern) const {
  for (const Domain& domain : domains_[group]) {
    if (!domain.nvswitch || domain.ranks.size() < 2) continue;
    const double part = 1.0 / static_cast<double>(domain.ranks.size());
    const double out =
        pattern == Pattern::gather ? part : 1 + (pattern == Pattern::multicast) * part;
    const double in =
        pattern == Pattern::scatter ? part : 1 + (pattern == Pattern::multicast) * part;
    for (const int rank : domain.ranks) {
      simcore::SimTime latency;
      for (const auto& [from, to, share] : {std::tuple{graph_->gpu(rank), *domain.nvswitch, out},
                                            std::tuple{*domain.nvswitch, graph_->gpu(rank), in}}) {
        const auto link = graph_->find_link(from, to);
        if (!link) continue;
        builder.add_link(*link, share);
        latency += graph_->links()[*link].latency;
      }
      builder.count_inside_hop(latency);
    }
  }
}

// A chain goes through all GPUs of a node; every byte goes up and comes down. Between nodes there
// is one for each NIC; it begins at the GPU beside that.
std::optional<NoRoute> CommunicatorPlan::add_chains(TrafficBuilder& builder,
                                                    std::size_t group) const {
  const std::vector<Ring>& rings = rings_of(group).rings;
  const double share = 1.0 / static_cast<double>(rings.size());
  for (std::size_t c = 0; c < rings.size(); ++c) {
    for (const Domain& domain : domains_[group]) {
      const int first = domains_[group].size() > 1 ? domain.ports[c].rank : rings[c].order.front();
      const std::vector<int> chain = chain_from(rings[c], domain, first);
      for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        const Hop up{.from_rank = chain[i + 1], .to_rank = chain[i]};
        const Hop down{.from_rank = chain[i], .to_rank = chain[i + 1]};
        if (!builder.add(up, share) || !builder.add(down, share)) {
          return NoRoute{spec_.role, chain[i], chain[i + 1]};
        }
      }
    }
  }
  return std::nullopt;
}

// Each of the two trees carries half of the data of every port, up and down.
std::optional<NoRoute> CommunicatorPlan::add_trees(TrafficBuilder& builder,
                                                   std::size_t group) const {
  const std::vector<Domain>& domains = domains_[group];
  const auto count = static_cast<int>(domains.size());
  if (count < 2) return std::nullopt;
  const std::size_t ports = rings_of(group).rings.size();
  const double share = 0.5 / static_cast<double>(ports);
  for (int member = 0; member < count; ++member) {
    for (const int tree : {0, 1}) {
      const int above = binary_tree_position(count, member, tree).parent;
      if (above < 0) continue;
      for (std::size_t c = 0; c < ports; ++c) {
        const Port& low = domains[static_cast<std::size_t>(member)].ports[c];
        const Port& high = domains[static_cast<std::size_t>(above)].ports[c];
        Hop up{.from_rank = low.rank, .to_rank = high.rank, .between_nodes = true};
        Hop down{.from_rank = high.rank, .to_rank = low.rank, .between_nodes = true};
        if (low.nic && high.nic) {
          up.out_nic = down.in_nic = low.nic;
          up.in_nic = down.out_nic = high.nic;
        }
        if (!builder.add(up, share) || !builder.add(down, share)) {
          return NoRoute{spec_.role, low.rank, high.rank};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace shardsim::nccl
