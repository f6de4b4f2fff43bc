#include "models/nccl/channel_search.hpp"

#include <algorithm>
#include <utility>

#include "models/nccl/nic_choice.hpp"

namespace shardsim::nccl {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
int count_of(const auto& list) { return static_cast<int>(list.size()); }

/// Steps granted to the attempt to follow the GPUs' own order.
constexpr int index_order_budget = 1 << 10;

bool has_heads(ChannelPattern pattern) {
  return pattern == ChannelPattern::nvls || pattern == ChannelPattern::collnet_direct;
}

}  // namespace

ChannelSearch::ChannelSearch(const Landscape& land) : land_(land), version_(land.system->version) {
  for (const SystemLink& link : land.system->links) {
    facts_.push_back(facts_of(link));
    link_left_.push_back(link.gbytes_per_second);
  }
  for (const SystemNet& net : land.system->nets) net_left_.push_back(net.gbytes_per_second);
  nets_cache_.resize(static_cast<std::size_t>(PathType::dis) + 1);
  for (auto& row : nets_cache_) row.resize(land.system->gpus.size() + 1);
}

int ChannelSearch::run(SearchState& trial, SearchState& best, int budget) {
  current_ = &trial;
  best_ = &best;
  budget_ = &budget;
  trial.count = 0;
  trial.gpus.resize(at(trial.most) * at(gpu_count()));
  trial.nets.resize(at(trial.most) * 2);
  used_.assign(at(trial.most) * at(gpu_count()), 0);
  next_channel();
  return budget;
}

const std::vector<int>& ChannelSearch::nets_for(int gpu) {
  std::vector<int>& nets = nets_cache_[static_cast<std::size_t>(current_->type_inter)][at(gpu + 1)];
  if (nets.empty()) nets = nets_to_try(land_, current_->type_inter, gpu);
  return nets;
}

void ChannelSearch::next_channel() {
  Return back;
  if (land_.options.several_nodes) {
    switch (current_->pattern) {
      case ChannelPattern::ring:
        back.to_net = gpu_count() - 1;
        break;
      case ChannelPattern::split_tree:
        back.to_net = 1;
        break;
      default:
        back.to_net = 0;
    }
    from_nets(back);
  } else {
    if (current_->pattern == ChannelPattern::ring) back.to_first = gpu_count() - 1;
    within_node(back);
  }
}

void ChannelSearch::within_node(Return back) {
  const int channel = current_->count;
  if (current_->pattern == ChannelPattern::nvls) {
    start_at(channel, back, Order::free);
    return;
  }
  if (channel == 0) {
    start_at(0, back, Order::by_index);
  } else {
    start_at(replayed(0), back, Order::as_before);
  }
  if (current_->same_channels && channel > 0) return;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) start_at(gpu, back, Order::free);
}

/// GPU at that place of the channel before this one.
int ChannelSearch::replayed(int place) const {
  return current_->gpus[at((current_->count - 1) * gpu_count() + place)];
}

void ChannelSearch::charge_port(int net, int rate) {
  const SystemNet& device = land_.system->nets[at(net)];
  for (std::size_t n = 0; n < net_left_.size(); ++n) {
    const SystemNet& other = land_.system->nets[n];
    if (other.asic == device.asic && other.port == device.port) {
      net_left_[n] -= static_cast<float>(rate);
    }
  }
}

bool ChannelSearch::may_start_from(int net, int rate) const {
  if (current_->for_collnet && !land_.system->nets[at(net)].collectives) return false;
  if (net_left_[at(net)] < static_cast<float>(rate)) return false;
  // Every second channel comes in where the one before it went out.
  const bool odd = current_->count % 2 == 1;
  const bool paired = version_ >= NcclVersion{23, 0}
                          ? current_->cross_nic == 2 && current_->pattern == ChannelPattern::ring
                          : current_->cross_nic != 0 && version_ >= NcclVersion{20, 0};
  return !paired || !odd || net == current_->nets[at((current_->count - 1) * 2 + 1)];
}

void ChannelSearch::from_nets(Return back) {
  const auto rate = static_cast<int>(current_->inter);  // NCCL drops the fraction
  const std::vector<int>& nets = nets_for(-1);
  const int choices = count_of(nets);
  const bool heads = has_heads(current_->pattern);
  const bool old_nvls = version_ < NcclVersion{19, 0};
  for (int i = 0; i < choices; ++i) {
    const bool first_only = version_ < NcclVersion{22, 0} && !old_nvls;
    if (heads && first_only && i > 0) break;
    const int net = old_nvls ? nets[at(i)] : nets[at((current_->count + i) % choices)];
    if (!may_start_from(net, rate)) continue;
    current_->nets[at(current_->count * 2)] = net;
    current_->latency_us = land_.system->nets[at(net)].latency_us;
    charge_port(net, rate);
    bool stop = false;
    if (heads && old_nvls) {
      head_in_turn(nets, back);
    } else if (heads) {
      stop = head_from_net(net, choices, back);
    } else if (version_ >= NcclVersion{27, 5}) {
      chain_from_net(net, back);
    } else {
      old_chain_from_net(net, back);
    }
    charge_port(net, -rate);
    if (stop && version_ >= NcclVersion{22, 0}) break;
  }
}

/// 2.18: whatever NIC comes first, heads follow the list of NICs - which 2.18.3 takes for a list of
/// GPUs.
void ChannelSearch::head_in_turn(const std::vector<int>& nets, Return back) {
  if (current_->count >= count_of(nets)) return;
  const int net = nets[at(current_->count)];
  const int gpu = version_ < NcclVersion{18, 5} ? net : land_.local_gpu[at(net)];
  if (gpu >= 0 && gpu < gpu_count()) start_at(gpu, back, Order::free);
}

/// Tries the GPU nearest to `net` as a head; false if that could not even be tried.
bool ChannelSearch::head_from_net(int net, int choices, Return back) {
  if (current_->count >= choices) return false;
  const int gpu = land_.local_gpu[at(net)];
  if (gpu < 0) return version_ < NcclVersion{23, 0};
  if (version_ >= NcclVersion{22, 0}) {
    for (int channel = 0; channel < current_->count; ++channel) {
      if (current_->gpus[at(channel * gpu_count())] == gpu) return false;
    }
  }
  try_gpu({NodeKind::net, net}, gpu, 0, back, Order::free);
  return true;
}

/// Follows the GPUs' own order, with a budget of its own.
void ChannelSearch::try_index_order(End start, Return back) {
  int own_budget = index_order_budget;
  int* const outer = std::exchange(budget_, &own_budget);
  try_gpu(start, 0, 0, back, Order::by_index);
  budget_ = outer;
  if (own_budget == -1) *budget_ = -1;
}

void ChannelSearch::chain_from_net(int net, Return back) {
  const End start{NodeKind::net, net};
  if (current_->count > 0 && current_->same_channels) {
    try_gpu(start, replayed(0), 0, back, Order::as_before);
    return;
  }
  if (current_->count == 0 && !land_.system->nvswitch) {
    try_index_order(start, back);
  }
  const int nearest = land_.local_gpu[at(net)];
  if (nearest >= 0) try_gpu(start, nearest, 0, back, Order::free);
  for (const int gpu : nearest_gpus(*land_.system, land_.paths, net)) {
    if (gpu != nearest) try_gpu(start, gpu, 0, back, Order::free);
  }
}

/// Before 2.27.5: the last channel is always tried again, and GPUs at equal distance take turns.
void ChannelSearch::old_chain_from_net(int net, Return back) {
  const End start{NodeKind::net, net};
  const int channel = current_->count;
  if (channel > 0) try_gpu(start, replayed(0), 0, back, Order::as_before);
  if (channel > 0 && current_->same_channels) return;
  if (channel == 0 && (!land_.system->nvswitch || version_ < NcclVersion{19, 0})) {
    try_index_order(start, back);
  }
  float rate = 0;
  int hops = 0;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) {
    const Path& path = land_.net_gpu(net, gpu);
    if (path.gbytes_per_second > rate) {
      rate = path.gbytes_per_second;
      hops = path.hops();
    } else if (path.gbytes_per_second == rate) {
      hops = std::min(hops, path.hops());
    }
  }
  if (rate < static_cast<float>(static_cast<int>(current_->inter))) return;
  const int shift = version_ >= NcclVersion{19, 0} ? channel : 0;
  for (int i = 0; i < gpu_count(); ++i) {
    const int gpu = (shift + i) % gpu_count();
    const Path& path = land_.net_gpu(net, gpu);
    if (path.gbytes_per_second == rate && path.hops() == hops) {
      try_gpu(start, gpu, 0, back, Order::free);
    }
  }
}

void ChannelSearch::start_at(int gpu, Return back, Order order) {
  char& used = used_[at(current_->count * gpu_count() + gpu)];
  used ^= 1;
  visit(gpu, 0, back, order);
  used ^= 1;
}

void ChannelSearch::try_gpu(End from, int gpu, int place, Return back, Order order) {
  const End to{NodeKind::gpu, gpu};
  if (!reserve(from, to)) return;
  char& used = used_[at(current_->count * gpu_count() + gpu)];
  used ^= 1;
  visit(gpu, place, back, order);
  used ^= 1;
  release(from, to);
}

void ChannelSearch::visit(int gpu, int place, Return back, Order order) {
  if (*budget_ <= 0) return;
  --*budget_;
  if (place == gpu_count()) {
    finish_channel();
    return;
  }
  current_->gpus[at(current_->count * gpu_count() + place)] = gpu;
  if (place == back.to_net) {
    back_to_net(gpu, place, back, order);
  } else if (current_->pattern == ChannelPattern::nvls) {
    nvls_head(gpu);
  } else if (current_->pattern == ChannelPattern::collnet_direct) {
    direct_head(gpu);
  } else if (place < gpu_count() - 1) {
    continue_from(gpu, place, back, order);
  } else if (place == back.to_first) {
    close_ring(gpu, place, back, order);
  } else {
    visit(gpu, gpu_count(), {}, order);
  }
}

void ChannelSearch::finish_channel() {
  ++current_->count;
  if (is_better()) {
    *best_ = *current_;
    if (current_->count == current_->most) *budget_ = -1;
  }
  if (current_->count < current_->most) next_channel();
  --current_->count;
}

bool ChannelSearch::is_better() const {
  const SearchState& found = *current_;
  const SearchState& known = *best_;
  if (found.count < found.least) return false;
  const auto total = [](const SearchState& state, float rate) {
    return static_cast<float>(state.count) * rate;
  };
  if (found.pattern == ChannelPattern::nvls) {
    if (found.count > known.count && found.count <= gpu_count()) return true;
    return version_ >= NcclVersion{19, 0} && total(found, found.inter) > total(known, known.inter);
  }
  float target = total(known, known.intra);
  if (version_ < NcclVersion{20, 0}) {
    // A solution that keeps to its NICs is worth 15 % more.
    target *= static_cast<float>(1.0 - (known.cross_nic - found.cross_nic) * .15);
  }
  const float rate = total(found, found.intra);
  if (rate != target) return rate > target;
  return found.pattern == known.pattern && found.cross_nic == known.cross_nic &&
         found.hops < known.hops;
}

bool ChannelSearch::may_return_to(int net, int start, int place) const {
  const SystemNet& end = land_.system->nets[at(net)];
  const SystemNet& begin = land_.system->nets[at(start)];
  const bool same_port = end.asic == begin.asic && end.port == begin.port;
  const int channel = current_->count;
  const bool swapped =
      channel % 2 == 0 || net == current_->nets[at((std::max(channel, 1) - 1) * 2)];
  if (version_ >= NcclVersion{30, 7} && end.plane && begin.plane && end.plane != begin.plane) {
    return false;
  }
  if (current_->pattern == ChannelPattern::tree && net != start) return false;
  if (version_ < NcclVersion{23, 0}) {
    if (current_->cross_nic != 1 && !same_port) return false;
    if (version_ >= NcclVersion{20, 0} && current_->cross_nic != 0 && !swapped) return false;
  } else if (current_->pattern == ChannelPattern::ring && current_->cross_nic == 2) {
    if (!swapped) return false;
  } else if (current_->cross_nic == 0) {
    const bool by_rail = version_ >= NcclVersion{30, 7} && end.rail && begin.rail;
    if (by_rail ? end.rail != begin.rail : !same_port) return false;
  }
  const bool second_half = current_->pattern == ChannelPattern::balanced_tree && place != 0;
  return !second_half || net == current_->nets[at(channel * 2 + 1)];
}

void ChannelSearch::back_to_net(int gpu, int place, Return back, Order order) {
  if (!land_.options.several_nodes) return;
  const int start = current_->nets[at(current_->count * 2)];
  const bool balanced = current_->pattern == ChannelPattern::balanced_tree;
  const float inter = current_->inter;
  // The first two GPUs of a balanced tree share the NIC's traffic.
  const float own = balanced ? inter / 2 : inter;
  const Return onwards{balanced && place == 0 ? 1 : -1, back.to_first};
  for (const int net : nets_for(gpu)) {
    if (!may_return_to(net, start, place)) continue;
    current_->inter = own;
    const bool fits = reserve({NodeKind::gpu, gpu}, {NodeKind::net, net});
    current_->inter = inter;
    if (!fits) continue;
    current_->nets[at(current_->count * 2 + 1)] = net;
    visit(gpu, place, onwards, order);
    current_->inter = own;
    release({NodeKind::gpu, gpu}, {NodeKind::net, net});
    current_->inter = inter;
  }
}

void ChannelSearch::continue_from(int gpu, int place, Return back, Order order) {
  std::vector<int> next;
  switch (order) {
    case Order::by_index:
      next = {place + 1};
      break;
    case Order::as_before:
      next = {replayed(place + 1)};
      break;
    case Order::free:
      next = next_gpus(gpu, place, back);
      break;
  }
  for (const int other : next) try_gpu({NodeKind::gpu, gpu}, other, place + 1, back, order);
}

void ChannelSearch::close_ring(int gpu, int place, Return back, Order order) {
  const int first = current_->gpus[at(current_->count * gpu_count())];
  if (!reserve({NodeKind::gpu, gpu}, {NodeKind::gpu, first})) return;
  visit(first, place + 1, {back.to_net, -1}, order);
  release({NodeKind::gpu, gpu}, {NodeKind::gpu, first});
}

/// The NVSwitch sends to every GPU and every GPU to it, the head twice as much.
void ChannelSearch::nvls_head(int head) {
  const End nvs{NodeKind::nvs, 0};
  const auto share = [&](int gpu) { return gpu == head ? 2.0F : 1.0F; };
  const int gpus = gpu_count();
  int down = 0;
  while (down < gpus && claim(nvs, {NodeKind::gpu, down}, share(down))) ++down;
  int up = 0;
  if (down == gpus) {
    while (up < gpus && claim({NodeKind::gpu, up}, nvs, share(up))) ++up;
    if (up == gpus) visit(head, gpus, {}, Order::free);
  }
  while (up-- > 0) claim({NodeKind::gpu, up}, nvs, -share(up));
  while (down-- > 0) claim(nvs, {NodeKind::gpu, down}, -share(down));
}

/// The head exchanges its share with every GPU directly.
void ChannelSearch::direct_head(int head) {
  const int gpus = gpu_count();
  const float share = 1.0F / static_cast<float>(gpus - 1);
  const End own{NodeKind::gpu, head};
  int out = 0;
  while (out < gpus && claim(own, {NodeKind::gpu, out}, share)) ++out;
  int in = 0;
  if (out == gpus) {
    while (in < gpus && claim({NodeKind::gpu, in}, own, share)) ++in;
    if (in == gpus) {
      int place = 1;
      for (int gpu = 0; gpu < gpus; ++gpu) {
        if (gpu != head) current_->gpus[at(current_->count * gpus + place++)] = gpu;
      }
      visit(head, gpus, {}, Order::free);
    }
  }
  while (in-- > 0) claim({NodeKind::gpu, in}, own, -share);
  while (out-- > 0) claim(own, {NodeKind::gpu, out}, -share);
}

}  // namespace shardsim::nccl
