#include "models/nccl/graph_search.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "models/nccl/channel_search.hpp"
#include "models/nccl/nic_choice.hpp"
#include "models/nccl/search_speeds.hpp"
#include "simcore/integer.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
int count_of(const auto& list) { return static_cast<int>(list.size()); }

/// Steps of one search, and of all searches for a graph.
constexpr int search_budget = 1 << 14;
constexpr int same_channels_budget = 1 << 8;
constexpr std::int64_t whole_budget = 1 << 19;
constexpr std::int64_t whole_budget_2_18 = 5 << 16;

/// Heads that NVLS and CollNetDirect have at most.
constexpr int nvls_heads = 32;
constexpr int direct_heads = 8;

struct Request {
  ChannelPattern pattern = ChannelPattern::ring;
  int least = 1;
  int most = 1;
  bool for_collnet = false;
};

struct TypeRange {
  PathType best = PathType::loc;
  PathType worst = PathType::sys;
};

class GraphSearch {
 public:
  GraphSearch(const Landscape& land, ChannelSearch& search, const Request& request)
      : land_(land), search_(search), version_(land.system->version) {
    best_.pattern = request.pattern;
    best_.least = request.least;
    best_.most = request.most;
    best_.for_collnet = request.for_collnet;
    capability_ = land.system->least_compute_capability();
  }

  ChannelGraph find() {
    prepare();
    const bool no_nvls =
        best_.pattern == ChannelPattern::nvls && (!land_.system->nvswitch || capability_ < 90);
    if (no_nvls) return result();
    set_bounds();
    trial_ = best_;
    start_speed();
    bool first_pass = true;
    while (true) {
      const int granted = trial_.same_channels ? same_channels_budget : search_budget;
      budget_left_ -= granted;
      steps_left_ = search_.run(trial_, best_, granted);
      const bool is_enough = steps_left_ == -1 || static_cast<float>(best_.count) * best_.inter >=
                                                      land_.total_gbytes_per_second;
      if (first_pass && !is_enough && relax()) continue;
      if (first_pass) begin_second_pass();
      first_pass = false;
      if (!raise()) break;
    }
    if (version_ < NcclVersion{19, 0}) duplicate();
    const bool needed = !best_.for_collnet && best_.pattern != ChannelPattern::nvls;
    if (best_.count == 0 && needed) fall_back();
    return result();
  }

 private:
  bool several_nodes() const { return land_.options.several_nodes; }
  int gpu_count() const { return count_of(land_.system->gpus); }

  /// NCCL looked whether there are NICs at all, which it drops for one node until 2.28.
  int net_count() const {
    const bool dropped = !several_nodes() && version_ < NcclVersion{28, 7};
    return dropped ? 0 : count_of(land_.system->nets);
  }

  void prepare() {
    const bool crosses = best_.pattern == ChannelPattern::ring ||
                         best_.pattern == ChannelPattern::balanced_tree ||
                         best_.pattern == ChannelPattern::split_tree;
    cross_nic_ = crosses && net_count() > 1 ? land_.options.cross_nic : 0;
    if (version_ < NcclVersion{19, 0}) {
      best_.cross_nic = land_.options.cross_nic == 2 ? 0 : land_.options.cross_nic;
      cross_nic_ = cross_nic_ != 0 ? 1 : 0;
    } else {
      best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    }
    find_type_ranges();
    best_.type_intra = intra_.best;
    best_.type_inter = inter_.best;
    try_same_ = best_.pattern != ChannelPattern::nvls;
    best_.same_channels = try_same_;
  }

  void find_type_ranges() {
    inter_.best = PathType::pix;
    if (version_ < NcclVersion{25, 0}) {
      intra_.best = gpu_count() == 1 ? PathType::loc : PathType::nvl;
      return;
    }
    if (gpu_count() > 1) {
      intra_ = range_over(gpu_count(), true);
    }
    if (several_nodes()) inter_ = range_over(count_of(land_.system->nets), false);
    if (capability_ < 90 && version_ >= NcclVersion{29, 0}) inter_.worst = PathType::sys;
  }

  TypeRange range_over(int targets, bool to_gpus) const {
    TypeRange range{PathType::sys, PathType::loc};
    for (int gpu = 0; gpu < gpu_count(); ++gpu) {
      for (int target = 0; target < targets; ++target) {
        if (to_gpus && gpu == target) continue;
        const PathType type =
            to_gpus ? land_.gpu_gpu(gpu, target).type : land_.gpu_net(gpu, target).type;
        range.best = std::min(range.best, type);
        range.worst = std::max(range.worst, type);
      }
    }
    return range;
  }

  void set_bounds() {
    const bool bounded = version_ >= NcclVersion{25, 0};
    const int gpus = gpu_count();
    if (best_.pattern == ChannelPattern::nvls && version_ >= NcclVersion{19, 0}) {
      best_.most = bounded ? std::min(nvls_heads, gpus) : gpus;
    }
    if (best_.pattern == ChannelPattern::collnet_direct) {
      best_.most = bounded ? std::min(direct_heads, gpus) : gpus;
    }
    if (gpus == 1 && best_.pattern != ChannelPattern::ring) best_.pattern = ChannelPattern::tree;
    if (!several_nodes() && best_.pattern == ChannelPattern::nvls) {
      // So that it pulls evenly from all GPUs.
      if (!bounded) best_.most = gpus;
      best_.least = best_.most;
    }
    if (version_ >= NcclVersion{26, 0} && best_.pattern == ChannelPattern::ring &&
        best_.most >= 2 && best_.least == 1 && nvlink_is_split()) {
      best_.least = 2;
    }
  }

  /// Two groups of GPUs with NVLink inside each and none between them.
  bool nvlink_is_split() const {
    std::vector<int> group;
    std::vector<int> size(at(gpu_count()), 0);
    for (int gpu = 0; gpu < gpu_count(); ++gpu) group.push_back(gpu);
    for (int gpu = 0; gpu < gpu_count(); ++gpu) {
      for (int peer = gpu + 1; peer < gpu_count(); ++peer) {
        if (land_.gpu_gpu(gpu, peer).type == PathType::nvl) group[at(peer)] = group[at(gpu)];
      }
    }
    for (const int leader : group) ++size[at(leader)];
    return std::count_if(size.begin(), size.end(), [](int n) { return n > 1; }) == 2;
  }

  float speed(std::size_t index) const { return speeds_[index]; }

  void start_speed() {
    speeds_ = search_speeds(capability_, several_nodes(), version_);
    float total = land_.total_gbytes_per_second;
    const bool is_ring = best_.pattern == ChannelPattern::ring;
    const auto gpus = static_cast<double>(gpu_count());
    if (gpu_count() == 1) {
      if (version_ < NcclVersion{21, 0}) total = std::numeric_limits<float>::infinity();
    } else if (!is_ring) {
      // Only rings need every GPU's bandwidth.
      total = static_cast<float>(static_cast<double>(total) * (gpus * 1.0 / (gpus - 1)));
    }
    while (speed_ + 1 < speeds_.size() &&
           (speed(speed_) > land_.max_gbytes_per_second ||
            speed(speed_) * static_cast<float>(best_.least) > total)) {
      ++speed_;
    }
    trial_.intra = trial_.inter = speed(speed_);
    budget_left_ = full_budget();
  }

  std::int64_t full_budget() const {
    return version_ < NcclVersion{19, 0} ? whole_budget_2_18 : whole_budget;
  }

  /// The next worse type that this version knows.
  PathType next_type(PathType type) const {
    auto next = static_cast<PathType>(static_cast<int>(type) + 1);
    if (next == PathType::c2c && version_ < NcclVersion{26, 0}) next = PathType::pix;
    if (next == PathType::p2c && version_ < NcclVersion{27, 0}) next = PathType::pxn;
    return next;
  }

  /// Changes the first thing that can still change and puts back what comes before it; false when
  /// everything has been tried.
  bool relax() {
    const bool fixed_order = version_ >= NcclVersion{19, 0} && trial_.type_intra == PathType::sys &&
                             !land_.system->cpus.empty() &&
                             land_.system->cpus.front().maker == CpuMaker::amd;
    if (trial_.same_channels && !fixed_order) {
      trial_.same_channels = false;
      return true;
    }
    trial_.same_channels = try_same_;
    budget_left_ += steps_left_;
    if (budget_left_ < 0 && best_.count > 0) return false;
    return simpler_tree() || worse_intra() || worse_inter() || cross_nics() || slower();
  }

  bool simpler_tree() {
    if (capability_ >= 90 && trial_.pattern == ChannelPattern::balanced_tree) {
      trial_.pattern = ChannelPattern::tree;
      return true;
    }
    trial_.pattern = best_.pattern;
    return false;
  }

  bool worse_intra() {
    const PathType limit = several_nodes() ? trial_.type_inter : intra_.worst;
    if (trial_.type_intra < limit && (best_.count == 0 || trial_.type_intra < best_.type_intra)) {
      trial_.type_intra = next_type(trial_.type_intra);
      if (trial_.type_intra < PathType::dis) return true;
    }
    trial_.type_intra = intra_.best;
    return false;
  }

  bool worse_inter() {
    if (several_nodes() && trial_.type_inter < inter_.worst &&
        (best_.count == 0 || trial_.type_inter < best_.type_inter ||
         trial_.type_inter < PathType::pxn)) {
      trial_.type_inter = next_type(trial_.type_inter);
      if (trial_.type_inter < PathType::dis) return true;
    }
    trial_.type_inter = inter_.best;
    return false;
  }

  bool cross_nics() {
    if (version_ < NcclVersion{19, 0}) {
      if (cross_nic_ != 0 && trial_.cross_nic == 0) {
        trial_.cross_nic = cross_nic_;
        return true;
      }
      trial_.cross_nic = 0;
      return false;
    }
    const bool pairs = version_ >= NcclVersion{23, 0};
    const bool suits = !pairs || best_.pattern == ChannelPattern::ring ||
                       best_.pattern == ChannelPattern::balanced_tree;
    if (cross_nic_ == 2 && trial_.cross_nic == 0 && suits) {
      trial_.cross_nic = pairs ? 2 : 1;
      return true;
    }
    trial_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    return false;
  }

  bool slower() {
    if (speed_ + 1 >= speeds_.size()) return false;
    const bool worthwhile =
        best_.count == 0 || static_cast<double>(speed(speed_ + 1) / best_.inter) > .49;
    if (!worthwhile) return false;
    ++speed_;
    trial_.intra = trial_.inter = speed(speed_);
    return true;
  }

  void begin_second_pass() {
    steps_left_ = -1;
    if (version_ >= NcclVersion{19, 0}) duplicate();
    trial_ = best_;
    speed_ = 0;
    while (speed_ + 1 < speeds_.size() && speed(speed_) > best_.inter) ++speed_;
    trial_.intra = trial_.inter = speed(speed_);
    trial_.least = best_.count;
  }

  /// Two channels for one where one is fast.
  void duplicate() {
    if (best_.count == 0 || best_.pattern == ChannelPattern::nvls || best_.intra < 25) return;
    if (capability_ > 80 && best_.intra < 50 && best_.count > 4) return;
    const int count = std::min(best_.count * 2, best_.most);
    const int copies = simcore::divide_up(count, best_.count);
    for (int channel = best_.count; channel < count; ++channel) {
      const int origin = channel - best_.count;
      for (int place = 0; place < gpu_count(); ++place) {
        best_.gpus[at(channel * gpu_count() + place)] =
            best_.gpus[at(origin * gpu_count() + place)];
      }
      best_.nets[at(channel * 2)] = best_.nets[at(origin * 2)];
      best_.nets[at(channel * 2 + 1)] = best_.nets[at(origin * 2 + 1)];
    }
    best_.intra /= static_cast<float>(copies);
    best_.inter /= static_cast<float>(copies);
    best_.count = count;
  }

  /// Goes one step up the speeds; false at the end, or when the last step was too much.
  bool raise() {
    if (steps_left_ == 0 || speed_ == 0) return false;
    const bool old = version_ < NcclVersion{19, 0};
    if (best_.pattern == ChannelPattern::ring) {
      if (old) return false;
      trial_.intra = trial_.inter = speed(--speed_);
      return true;
    }
    if (!old && best_.pattern == ChannelPattern::nvls && trial_.inter == best_.inter &&
        trial_.inter < trial_.intra * 2) {
      trial_.least = trial_.most = best_.count;
      trial_.inter = speed(--speed_);
      return true;
    }
    if (trial_.intra == best_.intra && trial_.intra < trial_.inter * 2) {
      trial_.intra = speed(--speed_);
      return true;
    }
    return false;
  }

  /// Any order at hardly any bandwidth, so that there is something.
  void fall_back() {
    best_.count = 1;
    best_.gpus.resize(std::max(best_.gpus.size(), at(gpu_count())));
    best_.nets.assign(std::max<std::size_t>(best_.nets.size(), 2), -1);
    for (int gpu = 0; gpu < gpu_count(); ++gpu) best_.gpus[at(gpu)] = gpu;
    best_.intra = best_.inter = 0.1F;
    best_.type_intra = best_.type_inter = PathType::sys;
    if (several_nodes()) {
      best_.nets[0] = local_net(*land_.system, land_.paths, land_.options, 0, 0);
      best_.nets[1] = local_net(*land_.system, land_.paths, land_.options, gpu_count() - 1, 0);
    }
    if (version_ >= NcclVersion{29, 0} && (best_.nets[0] < 0 || best_.nets[1] < 0)) {
      best_.inter = 0;
      best_.type_inter = PathType::dis;
    }
  }

  ChannelGraph result() const {
    ChannelGraph graph;
    graph.pattern = best_.pattern;
    graph.cross_nic = best_.cross_nic;
    graph.intra_gbytes_per_second = best_.intra;
    graph.inter_gbytes_per_second = best_.inter;
    graph.latency_us = best_.latency_us;
    graph.type_intra = best_.type_intra;
    graph.type_inter = best_.type_inter;
    graph.same_channels = best_.same_channels;
    for (int channel = 0; channel < best_.count; ++channel) {
      GraphChannel& found = graph.channels.emplace_back();
      const bool head_only = best_.pattern == ChannelPattern::nvls;
      for (int place = 0; place < (head_only ? 1 : gpu_count()); ++place) {
        const int gpu = best_.gpus[at(channel * gpu_count() + place)];
        found.ranks.push_back(land_.system->gpus[at(gpu)].rank);
      }
      if (!several_nodes()) continue;
      found.net_in = best_.nets[at(channel * 2)];
      found.net_out = best_.nets[at(channel * 2 + 1)];
    }
    return graph;
  }

  const Landscape& land_;
  ChannelSearch& search_;
  NcclVersion version_;
  int capability_ = 0;
  SearchState best_;
  SearchState trial_;
  TypeRange intra_;
  TypeRange inter_;
  int cross_nic_ = 0;
  bool try_same_ = true;
  std::span<const float> speeds_;
  std::size_t speed_ = 0;
  int steps_left_ = 0;
  std::int64_t budget_left_ = 0;
};

}  // namespace

NodeGraphs search_graphs(const Landscape& land, const GraphWishes& wishes,
                         const GivenGraphs& given) {
  ChannelSearch search(land);  // one account of the links for all graphs, as in NCCL
  const int limit = channel_limit(land.system->version);
  const auto find = [&](const std::optional<ChannelGraph>& known, const Request& request) {
    return known ? *known : GraphSearch(land, search, request).find();
  };
  NodeGraphs graphs;
  graphs.ring = find(given.ring, {ChannelPattern::ring, 1, limit / 2});
  const int rings = graphs.ring.channel_count();  // also of the chain for CollNet
  graphs.tree = find(given.tree, {ChannelPattern::balanced_tree, rings, rings});
  if (wishes.collnet) {
    graphs.collnet_chain = find(given.collnet_chain, {ChannelPattern::tree, rings, rings, true});
    if (land.system->version >= NcclVersion{22, 0}) {
      graphs.collnet_direct =
          find(given.collnet_direct, {ChannelPattern::collnet_direct, 1, limit, true});
    }
  }
  // Operations of both kinds share the channels.
  const std::size_t both = std::min(graphs.ring.channels.size(), graphs.tree.channels.size());
  graphs.ring.channels.resize(both);
  graphs.tree.channels.resize(both);
  graphs.nvls.pattern = ChannelPattern::nvls;
  if (wishes.nvls) graphs.nvls = find(given.nvls, {ChannelPattern::nvls, 1, limit});
  return graphs;
}

}  // namespace shardsim::nccl
