#include "models/nccl/path_search.hpp"

#include <algorithm>

#include "models/nccl/link_bandwidths.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Finds the way of every node to one target, going outwards from it.
class TargetSearch {
 public:
  TargetSearch(const System& system, bool nvb, int target, Paths& paths)
      : system_(system), nvb_(nvb), target_(target), paths_(paths) {}

  void run() {
    Path& own = path_of(target_);
    own.type = PathType::loc;
    own.gbytes_per_second = local_gbytes_per_second;
    std::vector<int> layer = {target_};
    while (!layer.empty()) {
      next_.clear();
      for (const int node : layer) {
        for (const int link : system_.nodes[at(node)].links) try_link(link);
      }
      std::swap(layer, next_);
    }
  }

 private:
  Path& path_of(int node) { return paths_.between(node, target_); }
  NodeKind kind_of(int node) const { return system_.nodes[at(node)].kind; }

  /// GPUs carry no traffic of others, except between two NVLinks.
  bool may_pass(const SystemLink& link) {
    if (link.from == target_ || kind_of(link.from) != NodeKind::gpu) return true;
    return nvb_ && link.type == PathType::nvl && kind_of(link.to) == NodeKind::gpu &&
           path_of(link.from).hops() <= 1;
  }

  PathType type_over(const SystemLink& link) {
    const Path& known = path_of(link.from);
    PathType type = link.type == PathType::net ? PathType::loc : link.type;
    if (kind_of(link.from) == NodeKind::pci && kind_of(link.to) == NodeKind::pci) {
      type = PathType::pxb;
    }
    const bool touches_cpu =
        kind_of(link.from) == NodeKind::cpu || kind_of(link.to) == NodeKind::cpu;
    if (link.type == PathType::pix && touches_cpu) type = PathType::phb;
    if (kind_of(link.from) == NodeKind::gpu && known.type == PathType::nvl &&
        type == PathType::nvl && known.hops() >= 1) {
      type = PathType::nvb;
    }
    return std::max(type, known.type);
  }

  bool is_better(const Path& path, PathType type, float rate, int hops_before) const {
    if (system_.version >= NcclVersion{30, 7}) {
      if (type != path.type) return type < path.type;
      if (rate != path.gbytes_per_second) return rate > path.gbytes_per_second;
      return path.hops() > hops_before + 1;
    }
    // Earlier versions looked at bandwidth alone, and only at longer ways.
    return (path.gbytes_per_second == 0 || path.hops() > hops_before) &&
           path.gbytes_per_second < rate;
  }

  void try_link(int index) {
    const SystemLink& link = system_.links[at(index)];
    if (!may_pass(link)) return;
    const Path& known = path_of(link.from);
    const PathType type = type_over(link);
    const float rate = std::min(known.gbytes_per_second, link.gbytes_per_second);
    Path& path = path_of(link.to);
    if (!is_better(path, type, rate, known.hops())) return;
    const int back = system_.find_link(link.to, link.from, link.type);
    if (back < 0) return;  // one-way, as no real machine has it
    path.links.assign(1, back);
    path.links.insert(path.links.end(), known.links.begin(), known.links.end());
    path.gbytes_per_second = rate;
    path.type = type;
    if (std::find(next_.begin(), next_.end(), link.to) == next_.end()) next_.push_back(link.to);
  }

  const System& system_;
  bool nvb_;
  int target_;
  Paths& paths_;
  std::vector<int> next_;
};

}  // namespace

Paths find_paths(const System& system, bool nvb) {
  Paths paths(system);
  for (std::size_t node = 0; node < system.nodes.size(); ++node) {
    const NodeKind kind = system.nodes[node].kind;
    if (kind == NodeKind::pci || kind == NodeKind::nic) continue;
    TargetSearch(system, nvb, static_cast<int>(node), paths).run();
  }
  return paths;
}

}  // namespace shardsim::nccl
