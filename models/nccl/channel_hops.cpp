#include "models/nccl/channel_hops.hpp"

#include <algorithm>
#include <utility>

#include "models/nccl/connect.hpp"
#include "models/nccl/double_binary_tree.hpp"

namespace shardsim::nccl {

using network::DeviceKind;
using network::VertexId;

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The number-th device of a kind of a node.
std::optional<VertexId> device(const network::Graph& graph, int node, DeviceKind kind,
                               std::int64_t number) {
  for (const VertexId one : graph.devices_of(node)) {
    const network::Vertex& vertex = graph.vertices()[one];
    if (vertex.kind == kind && vertex.index == number) return one;
  }
  return std::nullopt;
}

}  // namespace

ChannelHops::ChannelHops(const network::Graph& graph, std::span<const Domain> domains,
                         const PlannedCommunicator& plan)
    : graph_(graph), domains_(domains), plan_(plan) {}

int ChannelHops::rank_of(int node, int local) const { return domains_[at(node)].ranks[at(local)]; }

std::optional<VertexId> ChannelHops::cpu_of(int node, int local) const {
  const PlannedCommunicator& plan = plan_.of_node(node);
  const System& system = *plan.system;
  const int cpu = local_cpu(system, plan.land->paths, local);
  if (cpu < 0) return std::nullopt;
  // CPUs are counted over all hosts of a node.
  const int host = system.nodes[at(system.cpus[at(cpu)].node)].host;
  int first = 0;
  while (system.nodes[at(system.cpus[at(first)].node)].host != host) ++first;
  return device(graph_, graph_.node_of(rank_of(node, local)), DeviceKind::cpu, cpu - first);
}

std::vector<VertexId> ChannelHops::nics_of(int node, int net) const {
  std::vector<VertexId> nics;
  if (net < 0) return nics;
  const System& system = *plan_.of_node(node).system;
  const SystemNode& own = system.nodes[at(system.nets[at(net)].node)];
  // A GPU of that host says which node of the cluster it is.
  for (std::size_t local = 0; local < system.gpus.size(); ++local) {
    if (system.nodes[at(system.gpus[local].node)].host != own.host) continue;
    const int host = graph_.node_of(rank_of(node, static_cast<int>(local)));
    const std::int64_t first = system.nets[at(net)].device * plan_.nics_per_device;
    for (std::int64_t i = 0; i < plan_.nics_per_device; ++i) {
      const auto nic = device(graph_, host, DeviceKind::nic, first + i);
      if (nic && !graph_.is_down(*nic)) nics.push_back(*nic);
    }
    break;
  }
  return nics;
}

std::vector<VertexId> ChannelHops::nics(int node) const {
  std::vector<VertexId> all;
  for (std::size_t net = 0; net < plan_.of_node(node).system->nets.size(); ++net) {
    const auto some = nics_of(node, static_cast<int>(net));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// A GPU with NVLinks to both, by the widest way.
int ChannelHops::between_by_nvlink(int from, int to) const {
  int best = from;
  float widest = 0;
  for (int middle = 0; middle < static_cast<int>(plan_.system->gpus.size()); ++middle) {
    if (middle == from || middle == to) continue;
    const Path& first = plan_.land->gpu_gpu(from, middle);
    const Path& second = plan_.land->gpu_gpu(middle, to);
    if (first.type != PathType::nvl || second.type != PathType::nvl) continue;
    const float width = std::min(first.gbytes_per_second, second.gbytes_per_second);
    if (width > widest) best = middle;
    widest = std::max(widest, width);
  }
  return best;
}

// Without memory that both share, NCCL sends to the GPU's own NIC, from there to the other's.
void ChannelHops::by_nics(int node, int from, int to, Hop& hop) const {
  const auto nearest = [this, node](int local) -> std::optional<VertexId> {
    int best = -1;
    for (int net = 0; net < static_cast<int>(plan_.system->nets.size()); ++net) {
      const PathType type = plan_.land->gpu_net(local, net).type;
      if (best < 0 || type < plan_.land->gpu_net(local, best).type) best = net;
    }
    const auto nics = nics_of(node, best);
    return nics.empty() ? std::nullopt : std::optional(nics.front());
  };
  const auto out = nearest(from);
  const auto in = nearest(to);
  if (!out || !in) return;
  hop.out_nic = out;
  hop.in_nic = in;
}

Hop ChannelHops::inside(int node, int from, int to) const {
  Hop hop{.from_rank = rank_of(node, from), .to_rank = rank_of(node, to)};
  if (plan_.of_node(node).land->gpu_gpu(from, to).type >= PathType::phb) {
    hop.out_cpu = cpu_of(node, from);
    hop.in_cpu = cpu_of(node, to);
    if (!plan_.shared_memory) by_nics(node, from, to, hop);
  } else if (plan_.land->gpu_gpu(from, to).type == PathType::nvb) {
    hop.via_rank = rank_of(node, between_by_nvlink(from, to));
  }
  return hop;
}

bool ChannelHops::between(const End& from, const End& to, double share,
                          const HopVisitor& visit) const {
  const Landscape& land = *plan_.of_node(from.node).land;
  const Landscape& land_there = *plan_.of_node(to.node).land;
  Hop hop{.from_rank = rank_of(from.node, from.local),
          .to_rank = rank_of(to.node, to.local),
          .between_nodes = true};
  const std::vector<VertexId> out = nics_of(from.node, from.net);
  const std::vector<VertexId> in = nics_of(to.node, to.net);
  if (out.empty() || in.empty()) return visit(hop, share);
  const Path& way = land.gpu_net(from.local, from.net);
  const int neighbour = land.local_gpu[at(from.net)];
  if (way.type == PathType::pxn && neighbour >= 0 && neighbour != from.local) {
    hop.via_rank = rank_of(from.node, neighbour);
  } else if (way.type >= PathType::phb) {
    hop.out_cpu = cpu_of(from.node, from.local);
  }
  if (land_there.net_gpu(to.net, to.local).type >= PathType::phb) {
    hop.in_cpu = cpu_of(to.node, to.local);
  }
  const std::size_t ways = std::max(out.size(), in.size());
  for (std::size_t i = 0; i < ways; ++i) {
    hop.out_nic = out[i % out.size()];
    hop.in_nic = in[i % in.size()];
    if (!visit(hop, share / static_cast<double>(ways))) return false;
  }
  return true;
}

bool ChannelHops::rings(const HopVisitor& visit) const {
  const ChannelGraph& ring = plan_.graphs.ring;
  const auto nodes = static_cast<int>(domains_.size());
  const bool swaps = swaps_channel_pairs(ring, domains_.size(), plan_.system->version);
  const double share = 1.0 / ring.channel_count();
  for (int channel = 0; channel < ring.channel_count(); ++channel) {
    const auto passage = [&](int node) -> const GraphChannel& {
      return plan_.of_node(node)
          .graphs.ring.channels[at(swaps && node % 2 == 1 ? channel ^ 1 : channel)];
    };
    for (int node = 0; node < nodes; ++node) {
      const GraphChannel& own = passage(node);
      for (std::size_t i = 0; i + 1 < own.ranks.size(); ++i) {
        if (!visit(inside(node, own.ranks[i], own.ranks[i + 1]), share)) return false;
      }
      const int next = (node + 1) % nodes;
      const GraphChannel& other = passage(next);
      const int last = own.ranks.back();
      const int first = other.ranks.front();
      if (nodes > 1) {
        if (!between({node, last, own.net_out}, {next, first, other.net_in}, share, visit)) {
          return false;
        }
      } else if (last != first && !visit(inside(node, last, first), share)) {
        return false;
      }
    }
  }
  return true;
}

bool ChannelHops::trees(const HopVisitor& visit) const {
  const ChannelGraph& tree = plan_.graphs.tree;
  const int searched = tree.channel_count();
  const auto nodes = static_cast<int>(domains_.size());
  const auto per_node = static_cast<int>(domains_.front().ranks.size());
  // Each channel is there twice, for the two trees.
  const int channels = nodes > 1 ? 2 * searched : searched;
  const double share = 1.0 / channels;
  const auto links = connect_trees(tree, consecutive_ranks(nodes, per_node), channels);
  for (int channel = 0; channel < channels; ++channel) {
    const GraphChannel& chain = tree.channels[at(channel % searched)];
    // The first of the chain has the NIC it came in by, another the one it leaves by.
    const auto end = [&](int rank) {
      const bool first = rank % per_node == chain.ranks.front();
      const GraphChannel& own =
          plan_.of_node(rank / per_node).graphs.tree.channels[at(channel % searched)];
      return End{rank / per_node, rank % per_node,
                 first || own.net_out < 0 ? own.net_in : own.net_out};
    };
    for (int rank = 0; rank < nodes * per_node; ++rank) {
      const int up = links[at(channel)][at(rank)].up;
      if (up < 0) continue;
      const int node = rank / per_node;
      const bool on = up / per_node == node
                          ? visit(inside(node, rank % per_node, up % per_node), share) &&
                                visit(inside(node, up % per_node, rank % per_node), share)
                          : between(end(rank), end(up), share, visit) &&
                                between(end(up), end(rank), share, visit);
      if (!on) return false;
    }
  }
  return true;
}

bool ChannelHops::nvls_trees(const HopVisitor& visit) const {
  const ChannelGraph& nvls = plan_.graphs.nvls;
  std::vector<int> heads = nvls_heads_of(nvls);
  std::ranges::sort(heads);
  const auto nodes = static_cast<int>(domains_.size());
  const double share = 0.5 / static_cast<double>(heads.size());
  const auto end = [&](int node, int head) {
    const std::vector<GraphChannel>& own = plan_.of_node(node).graphs.nvls.channels;
    const auto led = std::ranges::find_if(
        own, [head](const GraphChannel& channel) { return channel.ranks.front() == head; });
    return End{node, head, led != own.end() ? led->net_in : own.front().net_in};
  };
  for (int node = 0; node < nodes; ++node) {
    for (const int tree : {0, 1}) {
      const int above = binary_tree_position(nodes, node, tree).parent;
      if (above < 0) continue;
      for (const int head : heads) {
        if (!between(end(node, head), end(above, head), share, visit) ||
            !between(end(above, head), end(node, head), share, visit)) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace shardsim::nccl
