// Runs the twin's threads for ThreadSanitizer: every program and protocol, in place and not, FIFOs
// that wrap. Works are planned by hand. Exit status 0 if all results are right; the sanitizer has
// its own.
#include <cstdio>

#include "tests/reference/cpu_run.hpp"
#include "tests/reference/rank_data.hpp"

namespace shardsim::reference {
namespace {

/// A chain of four ranks, and a tree whose root has two children, on a channel each.
Work two_trees(Protocol protocol, std::int64_t bytes) {
  Work work = plain_ring(Collective::all_reduce, protocol, 4, 2, bytes);
  work.algorithm = Algorithm::tree;
  for (ChannelPart& part : work.channels) {
    part.ring.clear();
    part.slices = part.slice_steps = 1;
    part.chunk_bytes = 4800;
    if (part.channel == 0) {
      part.tree = {{-1, 1, -1, -1}, {0, 2, -1, -1}, {1, 3, -1, -1}, {2, -1, -1, -1}};
    } else {
      part.tree = {{2, -1, -1, -1}, {2, 3, -1, -1}, {-1, 0, 1, -1}, {1, -1, -1, -1}};
    }
  }
  return work;
}

/// All pairs of four ranks in as many rounds, two parts each.
Work messages(Protocol protocol, std::int64_t bytes) {
  Work work;
  work.collective = Collective::alltoall;
  work.algorithm = Algorithm::messages;
  work.protocol = protocol;
  work.ranks = 4;
  work.size = 4 * bytes;
  work.step_bytes = 65'536;
  work.messages = {bytes,
                   4,
                   2,
                   (bytes / 2 + 4095) / 4096 * 4096,
                   4096,
                   4,
                   {{0, 0, 0}, {0, 1, 2}, {0, 2, 1}, {0, 3, 3}}};
  return work;
}

bool right(const Work& work, bool in_place) {
  const Plan plan = plan_of(work);
  auto buffers = make_buffers(work, plan, in_place, 3);
  std::vector<RankMemory> memory;
  for (RankBuffers& one : buffers) memory.push_back({one.source_begin(), one.target_begin()});
  run_on_cpu(plan, memory);
  for (int rank = 0; rank < work.ranks; ++rank) {
    const auto wrong = check_rank(work, plan, rank, buffers[static_cast<std::size_t>(rank)], 3);
    if (wrong) std::printf("%s\n", wrong->c_str());
    if (wrong) return false;
  }
  return true;
}

bool run_all() {
  bool all = true;
  int runs = 0;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    for (const bool in_place : {false, true}) {
      for (const auto kind : {Collective::all_gather, Collective::reduce_scatter,
                              Collective::all_reduce, Collective::broadcast, Collective::reduce}) {
        Work work = plain_ring(kind, protocol, 3, 2, 150'000);
        // Small chunks, so that every slot of a FIFO is used several times.
        for (ChannelPart& part : work.channels) part.chunk_bytes = 4800;
        all &= right(work, in_place);
        ++runs;
      }
      all &= right(two_trees(protocol, 200'000), in_place);
      ++runs;
    }
  }
  for (const Protocol protocol : {Protocol::ll, Protocol::simple}) {
    all &= right(messages(protocol, 90'001), false);
    ++runs;
  }
  std::printf("%d runs, %s\n", runs, all ? "all right" : "WRONG");
  return all;
}

}  // namespace
}  // namespace shardsim::reference

int main() { return shardsim::reference::run_all() ? 0 : 1; }
