#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/reference/programs.hpp"
#include "tests/reference/work.hpp"

namespace shardsim::reference {

namespace {

struct Draft {
  TeamWork work;
  std::vector<LinkEnd> inputs;
  std::vector<LinkEnd> outputs;
  std::vector<Message> messages;
  std::vector<int> ring;
};

bool in_parts(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

class Planning {
 public:
  explicit Planning(const Work& work) : work_(work) {}

  Plan run() {
    plan_.connection_bytes = fifo_steps * work_.step_bytes;
    for (const ChannelPart& part : work_.channels) {
      if (work_.algorithm == Algorithm::ring) {
        add_ring(part);
      } else {
        add_tree(part);
      }
    }
    if (work_.algorithm == Algorithm::messages) add_messages();
    set_buffers();
    return finish();
  }

 private:
  Draft draft(int rank, int channel, int role) const {
    Draft made;
    made.work.collective = work_.collective;
    made.work.algorithm = work_.algorithm;
    made.work.protocol = work_.protocol;
    made.work.rank = rank;
    made.work.ranks = work_.ranks;
    made.work.channel = channel;
    made.work.role = role;
    made.work.element_bytes = work_.element_bytes;
    made.work.step_bytes = work_.step_bytes;
    return made;
  }
  Draft draft(int rank, const ChannelPart& part, int role) const {
    Draft made = draft(rank, part.channel, role);
    made.work.slices = part.slices;
    made.work.slice_steps = part.slice_steps;
    made.work.chunk_bytes = part.chunk_bytes;
    made.work.offset = part.offset;
    made.work.bytes = part.bytes;
    return made;
  }

  void add_ring(const ChannelPart& part) {
    const auto root = std::ranges::find(part.ring, work_.root) - part.ring.begin();
    for (int i = 0; i < work_.ranks; ++i) {
      const auto at = [&](int position) {
        return part.ring[static_cast<std::size_t>((position + work_.ranks) % work_.ranks)];
      };
      Draft team = draft(at(i), part, 0);
      team.ring = part.ring;
      team.work.position = i;
      team.work.root_position = static_cast<int>(root);
      // Connection i leads from position i to the next.
      team.inputs = {{plan_.connections + (i + work_.ranks - 1) % work_.ranks, at(i - 1)}};
      team.outputs = {{plan_.connections + i, at(i + 1)}};
      drafts_.push_back(std::move(team));
    }
    plan_.connections += work_.ranks;
  }

  void add_tree(const ChannelPart& part) {
    // Two connections between a rank and its parent: sums go up, results come down.
    const auto up = [this](int rank) { return plan_.connections + 2 * rank; };
    const auto down = [&up](int rank) { return up(rank) + 1; };
    for (int rank = 0; rank < work_.ranks; ++rank) {
      const auto& links = part.tree[static_cast<std::size_t>(rank)];
      const bool root = links[0] < 0;
      Draft reducing = draft(rank, part, 0);
      Draft spreading = draft(rank, part, 1);
      reducing.work.at_root = root;
      for (std::size_t c = 1; c < links.size(); ++c) {
        if (links[c] < 0) continue;
        reducing.inputs.push_back({up(links[c]), links[c]});
        (root ? reducing : spreading).outputs.push_back({down(links[c]), links[c]});
      }
      if (!root) {
        reducing.outputs.push_back({up(rank), links[0]});
        spreading.inputs.push_back({down(rank), links[0]});
      }
      drafts_.push_back(std::move(reducing));
      if (!root) drafts_.push_back(std::move(spreading));
    }
    plan_.connections += 2 * work_.ranks;
  }

  int receiver(const std::array<int, 3>& round, int rank) const {
    const int size = work_.messages.group_size;
    const int groups = work_.ranks / size;
    const int group = (rank / size + round[0]) % groups;
    return group * size + (rank % size + round[1]) % size;
  }

  bool wanted(int from, int to) const {
    return work_.collective == Collective::alltoall || to == (from + 1) % work_.ranks;
  }

  void add_messages() {
    const MessageRounds& m = work_.messages;
    // Steps that a FIFO needs at most: all chunks of a part, if they are less than eight.
    const std::int64_t steps = divide_up(std::min(m.part_bytes, m.bytes), m.chunk_bytes);
    plan_.connection_bytes = std::clamp<std::int64_t>(steps, 1, fifo_steps) * work_.step_bytes;
    for (int channel = 0; channel < m.channels; ++channel) {
      std::vector<Draft> teams;  // two for each rank
      for (int rank = 0; rank < work_.ranks; ++rank) {
        for (int role = 0; role < 2; ++role) {
          teams.push_back(draft(rank, channel, role));
          teams.back().work.chunk_bytes = m.chunk_bytes;
        }
      }
      for (const auto& round : m.rounds) add_round(round, channel, teams);
      for (Draft& team : teams) {
        if (!team.messages.empty()) drafts_.push_back(std::move(team));
      }
    }
  }

  void add_round(const std::array<int, 3>& round, int channel, std::vector<Draft>& teams) {
    const MessageRounds& m = work_.messages;
    const int part = (channel - round[2] + m.channels) % m.channels;
    if (part >= m.parts) return;
    const std::int64_t begin = part * m.part_bytes;
    const std::int64_t bytes = std::clamp<std::int64_t>(m.bytes - begin, 0, m.part_bytes);
    const bool parts = work_.collective == Collective::alltoall;
    for (int from = 0; from < work_.ranks; ++from) {
      const int to = receiver(round, from);
      if (!wanted(from, to)) continue;
      Draft& sender = teams[static_cast<std::size_t>(2 * from)];
      const std::int64_t source = (parts ? to * m.bytes : 0) + begin;
      const std::int64_t target = (parts ? from * m.bytes : 0) + begin;
      if (to == from) {
        sender.messages.push_back({to, -1, source, bytes});
        continue;
      }
      Draft& taker = teams[static_cast<std::size_t>(2 * to + 1)];
      sender.messages.push_back({to, static_cast<int>(sender.outputs.size()), source, bytes});
      taker.messages.push_back({from, static_cast<int>(taker.inputs.size()), target, bytes});
      sender.outputs.push_back({plan_.connections, to});
      taker.inputs.push_back({plan_.connections, from});
      ++plan_.connections;
    }
  }

  void set_buffers() {
    std::int64_t bytes = 0;
    for (const ChannelPart& part : work_.channels) {
      bytes = std::max(bytes, part.offset + part.bytes);
    }
    if (work_.algorithm == Algorithm::messages) bytes = work_.messages.bytes;
    const std::int64_t all = bytes * work_.ranks;
    plan_.source_bytes = bytes;
    plan_.target_bytes = bytes;
    if (work_.collective == Collective::all_gather) plan_.target_bytes = all;
    if (work_.collective == Collective::reduce_scatter) plan_.source_bytes = all;
    if (work_.collective == Collective::alltoall) plan_.source_bytes = plan_.target_bytes = all;
    for (Draft& team : drafts_) team.work.part_bytes = bytes;
  }

  Plan finish() {
    std::ranges::stable_sort(drafts_, {}, [](const Draft& one) {
      return std::tuple{one.work.rank, one.work.channel, one.work.role};
    });
    for (Draft& from : drafts_) {
      TeamPlan team;
      team.work = from.work;
      team.work.input_count = static_cast<int>(from.inputs.size());
      team.work.output_count = static_cast<int>(from.outputs.size());
      team.work.message_count = static_cast<int>(from.messages.size());
      team.first_input = plan_.links.size();
      plan_.links.insert(plan_.links.end(), from.inputs.begin(), from.inputs.end());
      team.first_output = plan_.links.size();
      plan_.links.insert(plan_.links.end(), from.outputs.begin(), from.outputs.end());
      team.first_message = plan_.messages.size();
      plan_.messages.insert(plan_.messages.end(), from.messages.begin(), from.messages.end());
      team.ring = plan_.rings.size();
      plan_.rings.insert(plan_.rings.end(), from.ring.begin(), from.ring.end());
      TeamWork counted = team.work;
      counted.ring = from.ring.data();
      counted.messages = from.messages.data();
      RowCounter counter{counted.slices};
      Program(counter, counted).run();
      team.rows = counter.rows;
      plan_.teams.push_back(team);
    }
    return std::move(plan_);
  }

  const Work& work_;
  Plan plan_;
  std::vector<Draft> drafts_;
};

}  // namespace

Plan plan_of(const Work& work) { return Planning(work).run(); }

Work plain_ring(Collective collective, Protocol protocol, int ranks, int channels,
                std::int64_t bytes) {
  Work work;
  work.collective = collective;
  work.protocol = protocol;
  work.ranks = ranks;
  work.size = bytes * (in_parts(collective) ? ranks : 1);
  work.element_bytes = collective == Collective::all_gather ? 1 : 4;
  const bool simple = protocol == Protocol::simple;
  work.step_bytes = simple ? 512 * 1024 : protocol == Protocol::ll ? 64 * 1024 : 614'400;
  const std::int64_t each = divide_up(divide_up(bytes, channels), 16) * 16;
  for (int channel = 0; channel < channels; ++channel) {
    ChannelPart part;
    part.channel = channel;
    part.offset = channel * each;
    part.bytes = std::min(each, bytes - part.offset);
    if (part.bytes <= 0) break;
    part.slices = simple ? 2 : 1;
    part.slice_steps = simple ? 2 : 1;
    part.chunk_bytes = simple                     ? 4 * work.step_bytes
                       : protocol == Protocol::ll ? work.step_bytes / 2
                                                  : work.step_bytes / 16 * 15;
    for (int rank = 0; rank < ranks; ++rank) part.ring.push_back(rank);
    work.channels.push_back(std::move(part));
  }
  return work;
}

}  // namespace shardsim::reference
