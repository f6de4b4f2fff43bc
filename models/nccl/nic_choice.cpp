#include "models/nccl/nic_choice.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "simcore/integer.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
int count_of(const auto& list) { return static_cast<int>(list.size()); }

/// Indices i in [0, count) whose path is best: bandwidth, then type.
template <class PathTo>
std::vector<int> best_of(int count, const PathTo& path_to) {
  PathType type = PathType::dis;
  float rate = 0;
  std::vector<int> best;
  for (int i = 0; i < count; ++i) {
    const Path& path = path_to(i);
    if (path.gbytes_per_second > rate || (path.gbytes_per_second == rate && path.type < type)) {
      rate = path.gbytes_per_second;
      type = path.type;
      best.clear();
    }
    if (path.gbytes_per_second == rate && path.type == type) best.push_back(i);
  }
  if (type == PathType::dis) best.clear();
  return best;
}

std::vector<int> nearest_nets(const System& system, const Paths& paths, int gpu) {
  return best_of(count_of(system.nets), [&](int net) -> const Path& {
    return paths.between(system.gpus[at(gpu)].node, system.nets[at(net)].node);
  });
}

/// `value` with its bits in reverse, within the bits that `power` (a power of two) spans.
int mirrored(int value, int power) {
  int mirror = 0;
  for (int bit = 1, image = power >> 1; bit < power; bit <<= 1, image >>= 1) {
    if ((value & bit) != 0) mirror |= image;
  }
  return mirror;
}

int nets_per_gpu(const PlanningOptions& options, int nets, int gpus) {
  switch (options.net_devices) {
    case NetDevicesPolicy::all:
      return nets;
    case NetDevicesPolicy::at_most:
      return std::min(options.most_net_devices, nets);
    case NetDevicesPolicy::shared_out:
      break;
  }
  return simcore::divide_up(nets, gpus);
}

/// Before 2.18.5 NCCL judged by the way from the NIC, and dealt NICs out to GPUs with equal
/// candidates one after another.
class DealtNets {
 public:
  DealtNets(const System& system, const Paths& paths) {
    for (int gpu = 0; gpu < count_of(system.gpus); ++gpu) {
      candidates_.push_back(best_of(count_of(system.nets), [&](int net) -> const Path& {
        return paths.between(system.nets[at(net)].node, system.gpus[at(gpu)].node);
      }));
      types_.push_back(candidates_.back().empty()
                           ? PathType::dis
                           : paths
                                 .between(system.nets[at(candidates_.back().front())].node,
                                          system.gpus[at(gpu)].node)
                                 .type);
    }
  }

  int net_of(int gpu, int channel) const {
    const std::vector<int>& own = candidates_[at(gpu)];
    if (own.empty()) return -1;
    int sharers = 0;
    int position = 0;
    for (int other = 0; other < count_of(candidates_); ++other) {
      if (candidates_[at(other)] != own) continue;
      if (other == gpu) position = sharers;
      ++sharers;
    }
    return own[at((channel * sharers + position) % count_of(own))];
  }

  int gpu_of(int net) const {
    PathType best = PathType::dis;
    std::vector<int> sharers;
    for (int gpu = 0; gpu < count_of(candidates_); ++gpu) {
      const std::vector<int>& own = candidates_[at(gpu)];
      if (std::find(own.begin(), own.end(), net) == own.end()) continue;
      if (types_[at(gpu)] < best) {
        best = types_[at(gpu)];
        sharers.clear();
      }
      if (types_[at(gpu)] == best) sharers.push_back(gpu);
    }
    if (sharers.empty()) return -1;
    const std::vector<int>& nets = candidates_[at(sharers.front())];
    const auto position = std::find(nets.begin(), nets.end(), net) - nets.begin();
    return sharers[static_cast<std::size_t>(position) % sharers.size()];
  }

 private:
  std::vector<std::vector<int>> candidates_;  ///< per GPU
  std::vector<PathType> types_;
};

/// A list without repetitions, in the order of adding.
class UniqueList {
 public:
  void add(int value) {
    if (known_.insert(value).second) values_.push_back(value);
  }
  int count() const { return count_of(values_); }
  std::vector<int> take() { return std::move(values_); }

 private:
  std::vector<int> values_;
  std::set<int> known_;
};

/// A GPU's own devices, channel after channel until they repeat.
std::vector<int> preferred_nets(const Landscape& land, int gpu) {
  std::vector<int> nets;
  for (int channel = 0; channel < channel_limit(land.system->version); ++channel) {
    const int net = local_net(*land.system, land.paths, land.options, gpu, channel);
    if (net < 0 || (!nets.empty() && net == nets.front())) break;
    nets.push_back(net);
  }
  return nets;
}

void add_preferred(const Landscape& land, const std::vector<int>& gpus, UniqueList& list) {
  std::vector<std::vector<int>> wanted;
  std::size_t longest = 0;
  for (const int gpu : gpus) {
    wanted.push_back(preferred_nets(land, gpu));
    longest = std::max(longest, wanted.back().size());
  }
  const bool by_channel = land.system->version >= NcclVersion{27, 5} && land.system->hosts > 1;
  if (!by_channel) {
    for (const std::vector<int>& nets : wanted) {
      for (const int net : nets) list.add(net);
    }
    return;
  }
  // Several hosts: first the first device of every GPU, then the second of every one, ...
  for (std::size_t channel = 0; channel < longest; ++channel) {
    for (const std::vector<int>& nets : wanted) {
      if (channel < nets.size()) list.add(nets[channel]);
    }
  }
}

std::vector<int> nets_of_type(const Landscape& land, int gpu, PathType type) {
  const bool bounded = land.system->version >= NcclVersion{20, 0};
  const int count = bounded
                        ? std::min(count_of(land.system->nets), channel_limit(land.system->version))
                        : count_of(land.system->nets);
  std::vector<int> nets;
  for (int net = 0; net < count; ++net) {
    if (land.gpu_net(gpu, net).type == type) nets.push_back(net);
  }
  // Before there were preferred devices, GPUs began at different places of the list.
  if (land.system->version < NcclVersion{18, 5} && !nets.empty()) {
    const auto shift = at(land.system->gpus[at(gpu)].device) % nets.size();
    std::rotate(nets.begin(), nets.begin() + static_cast<std::ptrdiff_t>(shift), nets.end());
  }
  return nets;
}

}  // namespace

int channel_limit(NcclVersion version) { return version >= NcclVersion{25, 0} ? 64 : 32; }

std::vector<int> nearest_gpus(const System& system, const Paths& paths, int net) {
  return best_of(count_of(system.gpus), [&](int gpu) -> const Path& {
    return paths.between(system.nets[at(net)].node, system.gpus[at(gpu)].node);
  });
}

int local_net(const System& system, const Paths& paths, const PlanningOptions& options, int gpu,
              int channel) {
  if (system.version < NcclVersion{18, 5}) return DealtNets(system, paths).net_of(gpu, channel);
  const std::vector<int> nets = nearest_nets(system, paths, gpu);
  if (nets.empty()) return -1;
  const int sharers = std::max(count_of(nearest_gpus(system, paths, nets.front())), 1);
  int net = system.gpus[at(gpu)].device;
  if (system.version >= NcclVersion{30, 7}) net %= sharers;
  if (std::has_single_bit(nets.size())) net = mirrored(net, count_of(nets));
  net += channel % nets_per_gpu(options, count_of(nets), sharers);
  return nets[at(net) % nets.size()];
}

int local_gpu(const System& system, const Paths& paths, const PlanningOptions& options, int net) {
  if (system.version < NcclVersion{18, 5}) return DealtNets(system, paths).gpu_of(net);
  const std::vector<int> gpus = nearest_gpus(system, paths, net);
  for (int channel = 0; channel < channel_limit(system.version); ++channel) {
    for (const int gpu : gpus) {
      if (local_net(system, paths, options, gpu, channel) == net) return gpu;
    }
  }
  return -1;
}

std::vector<int> nets_to_try(const Landscape& land, PathType worst, int gpu) {
  std::vector<int> gpus;
  for (int g = 0; g < count_of(land.system->gpus); ++g) {
    if (gpu < 0 || gpu == g) gpus.push_back(g);
  }
  UniqueList list;
  if (land.system->version >= NcclVersion{18, 5}) add_preferred(land, gpus, list);
  int most = std::numeric_limits<int>::max();
  if (land.options.net_devices == NetDevicesPolicy::at_most &&
      land.system->version >= NcclVersion{28, 7}) {
    most = land.options.most_net_devices * count_of(gpus);
  }
  for (int type = 0; type <= static_cast<int>(worst); ++type) {
    for (const int g : gpus) {
      for (const int net : nets_of_type(land, g, static_cast<PathType>(type))) {
        if (list.count() >= most) return list.take();
        list.add(net);
      }
    }
  }
  return list.take();
}

}  // namespace shardsim::nccl
