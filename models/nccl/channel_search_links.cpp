// The part of the channel search that keeps account of links, and that orders what to try next.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "models/nccl/channel_search.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// NCCL rounds every balance to MB/s, half away from zero, so that taking and giving back cancel
/// out. Balances are positive but for errors of rounding; those go the slow way.
float rounded_difference(float a, float b) {
  const float megabytes = (a - b) * 1000;
  if (megabytes < 0) return std::roundf(megabytes) / 1000;
  return static_cast<float>(static_cast<std::int32_t>(static_cast<double>(megabytes) + .5)) / 1000;
}

bool is_tree(ChannelPattern pattern) {
  return pattern == ChannelPattern::balanced_tree || pattern == ChannelPattern::split_tree ||
         pattern == ChannelPattern::tree;
}

/// A GPU that could come next; the smaller, the sooner. NCCL compares whole GB/s.
struct NextGpu {
  int inter_rate = 0;
  int pcie_rate = 0;
  int inter_hops = 0;
  int intra_rate = 0;
  int intra_hops = 0;
  int distance = 0;  ///< by index
  int gpu = 0;

  auto key() const {
    return std::tuple(-inter_rate, -pcie_rate, inter_hops, -intra_rate, intra_hops, distance);
  }
};

bool all_equally_near(const std::vector<NextGpu>& candidates) {
  return std::all_of(candidates.begin(), candidates.end(), [&](const NextGpu& candidate) {
    return candidate.intra_rate == candidates.front().intra_rate &&
           candidate.intra_hops == candidates.front().intra_hops;
  });
}

}  // namespace

int ChannelSearch::node_of(End end) const {
  switch (end.kind) {
    case NodeKind::gpu:
      return land_.system->gpus[at(end.index)].node;
    case NodeKind::net:
      return land_.system->nets[at(end.index)].node;
    default:
      return *land_.system->nvswitch;
  }
}

/// Takes (scale > 0) or gives back (scale < 0) the bandwidth of a channel between two ends. False,
/// and nothing taken, if the path is not good enough or has too little left.
bool ChannelSearch::claim(End from, End to, float scale) {
  const Path& path = land_.paths.between(node_of(from), node_of(to));
  const bool intra = from.kind != NodeKind::net && to.kind != NodeKind::net;
  const PathType worst = intra ? current_->type_intra : current_->type_inter;
  if (path.type >= PathType::dis) return false;
  if (path.hops() == 0 && version_ < NcclVersion{21, 0}) return false;
  if (scale == 1) {
    if (path.type > worst) return false;
    const Path& back = land_.paths.between(node_of(to), node_of(from));
    if (is_tree(current_->pattern) && back.type > worst) return false;
  }
  const float rate = (intra ? current_->intra : current_->inter) * scale;
  const int carried = charge(path, from.kind, path.hops(), rate);
  if (carried < path.hops()) {
    charge(path, from.kind, carried, -rate);
    return false;
  }
  current_->hops = static_cast<int>(static_cast<float>(current_->hops) +
                                    scale * static_cast<float>(path.hops()));
  return true;
}

bool ChannelSearch::crosses_intel(const Path& path) const {
  return std::any_of(path.links.begin(), path.links.end(), [&](int link) {
    const SystemNode& node = land_.system->nodes[at(land_.system->links[at(link)].to)];
    return node.kind == NodeKind::cpu &&
           land_.system->cpus[at(node.index)].maker == CpuMaker::intel;
  });
}

ChannelSearch::LinkFacts ChannelSearch::facts_of(const SystemLink& link) const {
  const SystemNode& to = land_.system->nodes[at(link.to)];
  LinkFacts facts;
  facts.is_pcie = link.type == PathType::pix;
  facts.reverse = land_.system->find_link(link.to, link.from, link.type);
  facts.acknowledges =
      to.kind == NodeKind::gpu && land_.system->gpus[at(to.index)].compute_capability < 80;
  facts.one_direction_at_a_time =
      to.kind == NodeKind::cpu && link.type == PathType::nvl &&
      (version_ < NcclVersion{19, 0} || land_.system->cpus[at(to.index)].maker == CpuMaker::power);
  return facts;
}

/// Charges the first `links` links of the path; the number of links that could carry it.
int ChannelSearch::charge(const Path& path, NodeKind start, int links, float rate) {
  // Intel's CPUs break GPU traffic into small packets, which costs PCIe bandwidth.
  float pcie_rate = rate;
  if (path.type == PathType::phb && start == NodeKind::gpu && crosses_intel(path)) {
    pcie_rate = rate * 6 / 5;
  }
  for (int i = 0; i < links; ++i) {
    const int index = path.links[at(i)];
    const LinkFacts& facts = facts_[at(index)];
    const float forward = facts.is_pcie ? pcie_rate : rate;
    float backward = 0;
    if (facts.acknowledges && start != NodeKind::gpu) backward += forward / 8;
    if (facts.one_direction_at_a_time) backward += forward;
    float* const reverse =
        backward != 0 && facts.reverse >= 0 ? &link_left_[at(facts.reverse)] : nullptr;
    if (link_left_[at(index)] < forward) return i;
    if (reverse != nullptr && *reverse < backward) return i;
    link_left_[at(index)] = rounded_difference(link_left_[at(index)], forward);
    if (reverse != nullptr) *reverse = rounded_difference(*reverse, backward);
  }
  return links;
}

/// Whole GB/s left between a GPU and what it hangs on.
int ChannelSearch::pcie_rate(int gpu) const {
  const int node = land_.system->gpus[at(gpu)].node;
  for (const int up : land_.system->nodes[at(node)].links) {
    const SystemLink& link = land_.system->links[at(up)];
    if (link.type != PathType::pix) continue;
    for (const int down : land_.system->nodes[at(link.to)].links) {
      if (land_.system->links[at(down)].to != node) continue;
      return static_cast<int>(std::min(link_left_[at(up)], link_left_[at(down)]));
    }
  }
  return -1;
}

std::vector<int> ChannelSearch::next_gpus(int gpu, int place, Return back) const {
  if (!land_.system->nvswitch || version_ < NcclVersion{19, 0}) {
    return sorted_gpus(gpu, place, back);
  }
  // NVSwitches do best if each GPU talks to few others: its neighbours by index, the last of these
  // first. From 2.21 on nobody else is tried.
  std::vector<int> next;
  if (version_ < NcclVersion{21, 0}) next = sorted_gpus(gpu, place, back);
  for (const int neighbour : neighbours(gpu)) {
    if (!may_follow(gpu, neighbour)) continue;
    std::erase(next, neighbour);
    next.insert(next.begin(), neighbour);
  }
  return next;
}

bool ChannelSearch::may_follow(int gpu, int other) const {
  return land_.gpu_gpu(gpu, other).hops() > 0 &&
         used_[at(current_->count * gpu_count() + other)] == 0;
}

std::vector<int> ChannelSearch::sorted_gpus(int gpu, int place, Return back) const {
  const bool by_net = back.to_net != -1;
  std::vector<NextGpu> candidates;
  for (int i = 1; i < gpu_count(); ++i) {
    const int other = (gpu + i) % gpu_count();
    const Path& path = land_.gpu_gpu(gpu, other);
    if (!may_follow(gpu, other)) continue;
    NextGpu candidate;
    candidate.gpu = other;
    candidate.distance = i;
    candidate.intra_hops = path.hops();
    candidate.intra_rate = static_cast<int>(path.gbytes_per_second);
    if (by_net) {
      const Path& from_net = land_.net_gpu(current_->nets[at(current_->count * 2)], other);
      candidate.inter_hops = from_net.hops();
      candidate.inter_rate = static_cast<int>(from_net.gbytes_per_second);
      candidate.pcie_rate = pcie_rate(other);
    }
    candidates.push_back(candidate);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const NextGpu& a, const NextGpu& b) { return a.key() < b.key(); });
  // On the way to a NIC that is still far, its neighbours are kept for the end.
  if (by_net && back.to_net != place + 1 && all_equally_near(candidates)) {
    std::reverse(candidates.begin(), candidates.end());
  }
  std::vector<int> next;
  next.reserve(candidates.size());
  for (const NextGpu& candidate : candidates) next.push_back(candidate.gpu);
  return next;
}

std::vector<int> ChannelSearch::neighbours(int gpu) const {
  const int before = (gpu - 1 + gpu_count()) % gpu_count();
  const int after = (gpu + 1) % gpu_count();
  std::vector<int> wanted;
  switch (current_->pattern) {
    case ChannelPattern::ring:
      wanted = {after, before};
      break;
    case ChannelPattern::split_tree:
    case ChannelPattern::balanced_tree:
      wanted = {before, after};
      break;
    default:
      wanted = {after};
  }
  if (before == after) wanted.resize(1);
  return wanted;
}

}  // namespace shardsim::nccl
