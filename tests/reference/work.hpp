// One operation as it was planned, and what becomes of it for teams of threads.
//
// A work is what `shardsim collective --chunk-work` writes (docs/chunk-trace.md); nothing of the
// simulator's own programs is used here. A plan holds the same for every team: who is connected to
// whom, which messages it has, how much it will log.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "tests/reference/team_work.hpp"

namespace shardsim::reference {

struct ChannelPart {
  int channel = 0;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t chunk_bytes = 0;
  int slices = 1;
  int slice_steps = 1;
  std::vector<int> ring;
  std::vector<std::array<int, 4>> tree;  ///< by rank: parent, children; -1: none
};

struct MessageRounds {
  std::int64_t bytes = 0;
  int channels = 1;
  int parts = 1;
  std::int64_t part_bytes = 0;
  std::int64_t chunk_bytes = 0;
  int group_size = 1;
  std::vector<std::array<int, 3>> rounds;  ///< distance of groups, within a group, first channel
};

struct Work {
  Collective collective = Collective::all_gather;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::int64_t size = 0;  ///< as nccl-tests counts it
  int ranks = 0;
  int element_bytes = 1;
  int root = 0;
  std::int64_t step_bytes = 0;
  std::vector<ChannelPart> channels;
  MessageRounds messages;
};

/// The works of a file. The error says what is wrong with it, or which work these kernels do not
/// know: reductions of other types than float.
std::expected<std::vector<Work>, std::string> read_works(const std::string& file);
std::expected<std::vector<Work>, std::string> parse_works(const std::string& text);

/// A ring collective planned here instead of by NCCL's rules: `channels` channels of equal parts
/// along the ring 0, 1, 2, ... `bytes` of each rank's part for all-gather and reduce-scatter, else
/// of the buffer; a multiple of 16 for each channel.
Work plain_ring(Collective collective, Protocol protocol, int ranks, int channels,
                std::int64_t bytes);

struct Plan {
  std::vector<TeamPlan> teams;  ///< by rank, channel, role
  std::vector<LinkEnd> links;
  std::vector<Message> messages;
  std::vector<int> rings;
  int connections = 0;
  std::int64_t connection_bytes = 0;  ///< memory of a FIFO
  std::int64_t source_bytes = 0;      ///< of a rank
  std::int64_t target_bytes = 0;
};

Plan plan_of(const Work& work);

}  // namespace shardsim::reference
