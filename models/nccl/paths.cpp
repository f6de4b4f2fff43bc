#include "models/nccl/paths.hpp"

#include <algorithm>

#include "models/nccl/link_bandwidths.hpp"
#include "models/nccl/nic_choice.hpp"
#include "models/nccl/path_search.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
int count_of(const auto& list) { return static_cast<int>(list.size()); }

class Surveyor {
 public:
  Surveyor(const System& system, const PlanningOptions& options)
      : system_(system), options_(options), paths_(find_paths(system, options.nvb)) {}

  Landscape survey() {
    Landscape land{&system_, options_, paths_, {}, 0, 0};
    divert_unreachable_peers();
    mark_c2c_nics();
    for (int net = 0; net < count_of(system_.nets); ++net) {
      for (int gpu = 0; gpu < count_of(system_.gpus); ++gpu) correct_nic_path(gpu, net);
    }
    // From 2.30 on bandwidth is judged before these corrections.
    if (system_.version < NcclVersion{30, 0}) land.paths = paths_;
    measure(land);
    land.paths = std::move(paths_);
    for (int net = 0; net < count_of(system_.nets); ++net) {
      land.local_gpu.push_back(local_gpu(system_, land.paths, options_, net));
    }
    return land;
  }

 private:
  int gpu_node(int gpu) const { return system_.gpus[at(gpu)].node; }
  int net_node(int net) const { return system_.nets[at(net)].node; }
  int cpu_node(int cpu) const { return system_.cpus[at(cpu)].node; }

  PathType p2p_level() const {
    if (options_.p2p_level) return *options_.p2p_level;
    const bool amd = !system_.cpus.empty() && system_.cpus.front().maker == CpuMaker::amd;
    return amd && system_.gpus.size() <= 2 ? PathType::sys : PathType::pxb;
  }

  /// `from` goes to `to` by way of `over`.
  void detour(int from, int over, int to) {
    const Path first = paths_.between(from, over);
    const Path second = paths_.between(over, to);
    Path& path = paths_.between(from, to);
    path.links = first.links;
    path.links.insert(path.links.end(), second.links.begin(), second.links.end());
    path.type = joined(first.type, second.type);
    if (system_.nodes[at(over)].kind == NodeKind::gpu) path.type = PathType::pxn;
    path.gbytes_per_second = std::min(first.gbytes_per_second, second.gbytes_per_second);
  }

  PathType joined(PathType a, PathType b) const {
    const auto [better, worse] = std::minmax(a, b);
    const bool known = system_.version >= NcclVersion{27, 0};
    return known && worse == PathType::phb && better == PathType::c2c ? PathType::p2c : worse;
  }

  void divert_unreachable_peers() {
    const PathType level = p2p_level();
    for (int to = 0; to < count_of(system_.gpus); ++to) {
      for (int from = 0; from < count_of(system_.gpus); ++from) {
        if (paths_.between(gpu_node(from), gpu_node(to)).type <= level) continue;
        const int cpu = local_cpu(system_, paths_, to);
        if (cpu >= 0) detour(gpu_node(from), cpu_node(cpu), gpu_node(to));
      }
    }
  }

  /// A NIC on the CPU that a GPU is on by C2C.
  void mark_c2c_nics() {
    if (system_.version < NcclVersion{27, 0}) return;
    const bool nearest_only = system_.version >= NcclVersion{29, 0};
    for (int gpu = 0; gpu < count_of(system_.gpus); ++gpu) {
      const int cpu = local_cpu(system_, paths_, gpu);
      if (cpu < 0) continue;
      for (const int net : nets_near(gpu, nearest_only)) {
        const PathType whole = joined(paths_.between(gpu_node(gpu), cpu_node(cpu)).type,
                                      paths_.between(net_node(net), cpu_node(cpu)).type);
        if (whole != PathType::p2c) continue;
        Path& there = paths_.between(gpu_node(gpu), net_node(net));
        Path& back = paths_.between(net_node(net), gpu_node(gpu));
        there.type = std::min(PathType::p2c, there.type);
        back.type = std::min(PathType::p2c, back.type);
      }
    }
  }

  std::vector<int> nets_near(int gpu, bool nearest_only) const {
    float best = 0;
    PathType type = PathType::dis;
    for (int net = 0; net < count_of(system_.nets); ++net) {
      const Path& path = paths_.between(gpu_node(gpu), net_node(net));
      if (path.gbytes_per_second > best || (path.gbytes_per_second == best && path.type < type)) {
        best = path.gbytes_per_second;
        type = path.type;
      }
    }
    std::vector<int> nets;
    for (int net = 0; net < count_of(system_.nets); ++net) {
      const Path& path = paths_.between(gpu_node(gpu), net_node(net));
      if (!nearest_only || (path.gbytes_per_second == best && path.type == type)) {
        nets.push_back(net);
      }
    }
    return nets;
  }

  void correct_nic_path(int gpu, int net) {
    if (options_.pxn) {
      const int relay = local_gpu(system_, paths_, options_, net);
      if (relay >= 0 && relay != gpu && relays(relay, gpu, net)) {
        detour(gpu_node(gpu), gpu_node(relay), net_node(net));
      }
    }
    const bool beyond_gpu_direct =
        paths_.between(gpu_node(gpu), net_node(net)).type >= PathType::phb;
    if (beyond_gpu_direct && system_.version >= NcclVersion{21, 0}) return;
    if (uses_gpu_direct(system_, paths_, options_, gpu, net, false)) return;
    const int cpu = local_cpu(system_, paths_, gpu);
    if (cpu < 0) return;
    detour(net_node(net), cpu_node(cpu), gpu_node(gpu));
    detour(gpu_node(gpu), cpu_node(cpu), net_node(net));
  }

  /// May `gpu` send to `net` through `relay`?
  bool relays(int relay, int gpu, int net) const {
    const Path& own = paths_.between(gpu_node(gpu), net_node(net));
    const Path& other = paths_.between(gpu_node(relay), net_node(net));
    const NcclVersion version = system_.version;
    const bool over_c2c = options_.pxn_c2c.value_or(version >= NcclVersion{28, 0});
    const PathType farthest =
        over_c2c && version >= NcclVersion{27, 0} ? PathType::p2c : PathType::pxb;
    if (other.type > farthest) return false;
    if (version >= NcclVersion{30, 0} &&
        !uses_gpu_direct(system_, paths_, options_, relay, net, true)) {
      return false;
    }
    if (paths_.between(gpu_node(relay), gpu_node(gpu)).type > PathType::nvl) return false;
    const bool same_host =
        system_.nodes[at(gpu_node(relay))].host == system_.nodes[at(gpu_node(gpu))].host;
    if (!same_host && version >= NcclVersion{21, 0}) return false;
    const PathType good_enough = version >= NcclVersion{27, 0} ? PathType::pxn : PathType::pxb;
    return other.gbytes_per_second > own.gbytes_per_second || own.type > good_enough;
  }

  void measure(Landscape& land) const {
    if (!options_.several_nodes && system_.gpus.size() == 1) {
      land.max_gbytes_per_second = local_gbytes_per_second;
      const bool known = system_.version >= NcclVersion{21, 0};
      land.total_gbytes_per_second = known ? local_gbytes_per_second : 0;
      return;
    }
    for (int gpu = 0; gpu < count_of(system_.gpus); ++gpu) {
      const int targets = options_.several_nodes ? count_of(system_.nets) : count_of(system_.gpus);
      for (int target = 0; target < targets; ++target) {
        const Path& path =
            options_.several_nodes ? land.gpu_net(gpu, target) : land.gpu_gpu(gpu, target);
        if (path.links.empty()) continue;
        land.max_gbytes_per_second = std::max(land.max_gbytes_per_second, path.gbytes_per_second);
      }
      land.total_gbytes_per_second = std::max(land.total_gbytes_per_second, link_sum(gpu));
    }
  }

  /// All NVLinks of a GPU together, or its PCIe link.
  float link_sum(int gpu) const {
    float nvlink = 0;
    float pcie = 0;
    for (const int link : system_.nodes[at(gpu_node(gpu))].links) {
      const SystemLink& leaving = system_.links[at(link)];
      if (leaving.type == PathType::nvl) nvlink += leaving.gbytes_per_second;
      if (leaving.type == PathType::pix) pcie = leaving.gbytes_per_second;
    }
    return std::max(nvlink, pcie);
  }

  const System& system_;
  const PlanningOptions& options_;
  Paths paths_;
};

/// The GPU that a PXN path goes through.
int relay_on(const System& system, const Path& path) {
  for (const int link : path.links) {
    const SystemNode& node = system.nodes[at(system.links[at(link)].to)];
    if (node.kind == NodeKind::gpu) return node.index;
  }
  return -1;
}

bool has_nvlink_peer(const System& system, const Paths& paths, int gpu) {
  if (system.gpus.size() == 1) return true;
  for (int peer = 0; peer < count_of(system.gpus); ++peer) {
    if (peer == gpu) continue;
    const Path& path = paths.between(system.gpus[at(gpu)].node, system.gpus[at(peer)].node);
    if (path.type == PathType::nvl) return true;
  }
  return false;
}

}  // namespace

Paths::Paths(const System& system) : column_of_(system.nodes.size(), -1) {
  int columns = 0;
  for (std::size_t node = 0; node < system.nodes.size(); ++node) {
    const NodeKind kind = system.nodes[node].kind;
    if (kind == NodeKind::pci || kind == NodeKind::nic) continue;
    column_of_[node] = columns++;
  }
  table_.resize(static_cast<std::size_t>(columns) * system.nodes.size());
}

const Path& Landscape::gpu_gpu(int from, int to) const {
  return paths.between(system->gpus[at(from)].node, system->gpus[at(to)].node);
}

const Path& Landscape::gpu_net(int gpu, int net) const {
  return paths.between(system->gpus[at(gpu)].node, system->nets[at(net)].node);
}

const Path& Landscape::net_gpu(int net, int gpu) const {
  return paths.between(system->nets[at(net)].node, system->gpus[at(gpu)].node);
}

const Path& Landscape::gpu_nvs(int gpu) const {
  return paths.between(system->gpus[at(gpu)].node, *system->nvswitch);
}

const Path& Landscape::nvs_gpu(int gpu) const {
  return paths.between(*system->nvswitch, system->gpus[at(gpu)].node);
}

Landscape survey(const System& system, const PlanningOptions& options) {
  return Surveyor(system, options).survey();
}

int local_cpu(const System& system, const Paths& paths, int gpu) {
  int best = -1;
  for (int cpu = 0; cpu < count_of(system.cpus); ++cpu) {
    const int from = system.gpus[at(gpu)].node;
    const Path& path = paths.between(from, system.cpus[at(cpu)].node);
    if (path.type == PathType::dis) continue;
    if (best < 0) {
      best = cpu;
      continue;
    }
    const Path& known = paths.between(from, system.cpus[at(best)].node);
    const auto better = [](const Path& a, const Path& b) {
      if (a.gbytes_per_second != b.gbytes_per_second) {
        return a.gbytes_per_second > b.gbytes_per_second;
      }
      return a.type != b.type ? a.type < b.type : a.hops() < b.hops();
    };
    if (better(path, known)) best = cpu;
  }
  return best;
}

bool uses_gpu_direct(const System& system, const Paths& paths, const PlanningOptions& options,
                     int gpu, int net, bool sending) {
  if (!system.nets[at(net)].gpu_direct || !system.gpus[at(gpu)].gpu_direct) return false;
  if (sending) {
    if (options.gdr_read == false) return false;
    const bool is_old =
        system.gpus[at(gpu)].compute_capability < 80 || system.version < NcclVersion{19, 0};
    if (!options.gdr_read && is_old && !has_nvlink_peer(system, paths, gpu)) return false;
  }
  const bool over_c2c = options.gdr_c2c && system.version >= NcclVersion{27, 0};
  const PathType level = options.gdr_level.value_or(over_c2c ? PathType::p2c : PathType::pxb);
  const Path* path = &paths.between(system.gpus[at(gpu)].node, system.nets[at(net)].node);
  if (path->type == PathType::pxn) {
    const int relay = relay_on(system, *path);
    if (relay >= 0) {
      path = &paths.between(system.gpus[at(relay)].node, system.nets[at(net)].node);
    }
  }
  // Before 2.29 a level that the user gave did not bind ways over C2C.
  const bool counts_as_c2c =
      over_c2c && path->type == PathType::p2c && system.version < NcclVersion{29, 0};
  return (counts_as_c2c ? PathType::c2c : path->type) <= level;
}

}  // namespace shardsim::nccl
