#include "models/nccl/chunk/message_schedule.hpp"

#include <algorithm>
#include <bit>

#include "models/nccl/link_bandwidths.hpp"
#include "simcore/integer.hpp"

namespace shardsim::nccl {

using simcore::divide_up;

namespace {

constexpr std::int64_t KiB = 1024;

int power_of_two_up(int count) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(count, 1))));
}

int bits_reversed(int value, int bound) {
  int reversed = 0;
  for (int bit = 1; bit < bound; bit *= 2) {
    reversed = reversed * 2 + ((value & bit) != 0 ? 1 : 0);
  }
  return reversed;
}

/// Channels that NCCL gives to one peer: the least over all pairs.
int channels_per_peer(const PlannedCommunicator& planned, const Environment& environment) {
  const System& system = *planned.system;
  const int count = static_cast<int>(system.gpus.size());
  int least = 64;
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a == b) continue;
      const Path& path = planned.land->gpu_gpu(a, b);
      int channels = 2;
      if (path.type == PathType::nvl) {
        const int capability = system.gpus[static_cast<std::size_t>(a)].compute_capability;
        const float link = nvlink_gbytes_per_second(capability, system.version);
        channels = 2 * std::max(1, static_cast<int>(path.gbytes_per_second / link));
      }
      least = std::min(least, channels);
    }
  }
  if (planned.shape.nodes > 1) {
    if (environment.channels_per_net_peer) {
      return power_of_two_up(std::min(least, static_cast<int>(*environment.channels_per_net_peer)));
    }
    const auto each = static_cast<float>(environment.p2p_per_channel_net_bw.value_or(14));
    float rate = 0;
    for (const SystemNet& net : system.nets) rate = std::max(rate, net.gbytes_per_second);
    const int nics = std::max(1, static_cast<int>(system.nets.size()) / std::max(count, 1));
    least = std::min(
        least, std::max(nics, static_cast<int>(divide_up(static_cast<std::int64_t>(rate + 0.5F),
                                                         static_cast<std::int64_t>(each)))));
  }
  return power_of_two_up(least);
}

bool all_by_nvlink(const PlannedCommunicator& planned) {
  const int count = static_cast<int>(planned.system->gpus.size());
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a != b && planned.land->gpu_gpu(a, b).type > PathType::nvb) return false;
    }
  }
  return true;
}

}  // namespace

MessageRules message_rules(const PlannedCommunicator& planned, const Environment& environment) {
  MessageRules rules;
  rules.nodes = planned.shape.nodes;
  rules.ranks_per_node = planned.shape.ranks_per_node();
  const std::int64_t most = environment.most_p2p_channels.value_or(64);
  const std::int64_t least = environment.least_p2p_channels.value_or(1);
  const std::int64_t collective = planned.selector->schedule_inputs().channels.collective;
  rules.channels = power_of_two_up(
      static_cast<int>(std::clamp(collective, std::min(least, most), std::max(least, most))));
  rules.channels_per_peer = std::min(channels_per_peer(planned, environment), rules.channels);
  rules.group_size = static_cast<int>(std::clamp<std::int64_t>(
      environment.p2p_schedule_group_size.value_or(8), 1, rules.ranks_per_node));
  while (rules.ranks_per_node % rules.group_size != 0) rules.group_size /= 2;
  if (rules.nodes > 1) {
    rules.chunk_bytes = environment.p2p_net_chunk_bytes.value_or(128 * KiB);
    while (rules.channels_per_peer > 1 &&
           rules.channels_per_peer * divide_up(rules.ranks() - 1, 8) > rules.channels) {
      rules.channels_per_peer /= 2;
    }
  } else if (all_by_nvlink(planned)) {
    rules.chunk_bytes = environment.p2p_nvl_chunk_bytes.value_or(512 * KiB);
  } else {
    rules.chunk_bytes = environment.p2p_pci_chunk_bytes.value_or(128 * KiB);
  }
  rules.ll_bytes = environment.p2p_ll_threshold_bytes.value_or(16 * KiB);
  return rules;
}

MessageCut cut_message(const MessageRules& rules, std::int64_t bytes) {
  const bool network = rules.nodes > 1;
  int most = rules.channels_per_peer;
  while (most > 1 && most * rules.ranks() > rules.channels) most /= 2;
  const std::int64_t least_part = std::max<std::int64_t>(1, rules.chunk_bytes / (network ? 2 : 8));
  const std::int64_t most_part = rules.chunk_bytes * (network ? 1 : 32);
  MessageCut cut;
  cut.parts = static_cast<int>(std::clamp<std::int64_t>(divide_up(bytes, least_part), 1, most));
  while (cut.parts * 2 <= rules.channels_per_peer && divide_up(bytes, cut.parts) > most_part) {
    cut.parts *= 2;
  }
  constexpr std::int64_t page = 4 * KiB;
  cut.part_bytes = divide_up(divide_up(bytes, cut.parts), page) * page;
  cut.parts = static_cast<int>(std::max<std::int64_t>(1, divide_up(bytes, cut.part_bytes)));
  cut.chunk_bytes = rules.chunk_bytes;
  if (bytes <= cut.parts * rules.ll_bytes) {
    cut.protocol = Protocol::ll;
    cut.chunk_bytes = 32 * KiB;  // half of a step of 64 KiB is data
  } else if (network && bytes < rules.chunk_bytes) {
    cut.chunk_bytes = rules.chunk_bytes / 4;
  } else if (network && bytes < 8 * rules.chunk_bytes) {
    cut.chunk_bytes = rules.chunk_bytes / 2;
  }
  return cut;
}

std::vector<MessageRound> message_rounds(const MessageRules& rules) {
  std::vector<MessageRound> rounds;
  const int groups = rules.groups();
  const int bound = power_of_two_up(groups);
  const int strides = static_cast<int>(divide_up(rules.group_size, 8));
  int group_distance = 0;
  for (int step = 0, index = 0; step < bound; ++step) {
    group_distance = (group_distance + step) % bound;  // 0, 1, 3, 6, ...: each once
    if (group_distance >= groups) continue;
    for (int distance = 0; distance < rules.group_size; ++distance) {
      const int number =
          rules.nodes > 1 ? index * strides + distance / 8 : index * rules.group_size + distance;
      rounds.push_back(
          {group_distance, distance, bits_reversed(number % rules.channels, rules.channels)});
    }
    ++index;
  }
  return rounds;
}

int receiver_of(const MessageRules& rules, const MessageRound& round, int rank) {
  const int group = (rank / rules.group_size + round.group_distance) % rules.groups();
  return group * rules.group_size + (rank % rules.group_size + round.distance) % rules.group_size;
}

int sender_to(const MessageRules& rules, const MessageRound& round, int rank) {
  const int groups = rules.groups();
  const int size = rules.group_size;
  const int group = (rank / size - round.group_distance + groups) % groups;
  return group * size + (rank % size - round.distance + size) % size;
}

}  // namespace shardsim::nccl
