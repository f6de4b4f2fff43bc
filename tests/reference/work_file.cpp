#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/reference/work.hpp"

namespace shardsim::reference {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 7> collective_names{
    "all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "alltoall", "sendrecv"};
constexpr std::array<const char*, 3> algorithm_names{"Ring", "Tree", "P2P"};
constexpr std::array<const char*, 3> protocol_names{"LL", "LL128", "Simple"};

template <class E, std::size_t Count>
E named(const std::array<const char*, Count>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::runtime_error("'" + name + "' is not known here");
  return static_cast<E>(found - names.begin());
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

ChannelPart channel_of(const Json& json, const Work& work) {
  ChannelPart part;
  part.channel = json.at("channel");
  part.offset = json.at("offset");
  part.bytes = json.at("bytes");
  part.chunk_bytes = json.at("chunk_bytes");
  part.slices = json.at("slices");
  part.slice_steps = json.at("slice_steps");
  if (json.contains("ring")) part.ring = json.at("ring").get<std::vector<int>>();
  if (json.contains("tree")) part.tree = json.at("tree").get<std::vector<std::array<int, 4>>>();
  const auto ranks = static_cast<std::size_t>(work.ranks);
  require(part.bytes > 0 && part.chunk_bytes > 0, "expected something to carry");
  require(part.slices >= 1 && part.slice_steps >= 1 &&
              fifo_steps % (part.slices * part.slice_steps) == 0,
          "expected chunks that divide a FIFO");
  require((work.algorithm == Algorithm::ring ? part.ring.size() : part.tree.size()) == ranks,
          "expected a place in the ring or tree for each rank");
  for (const int rank : part.ring) require(rank >= 0 && rank < work.ranks, "no such rank");
  for (const auto& links : part.tree) {
    for (const int rank : links) require(rank >= -1 && rank < work.ranks, "no such rank");
  }
  return part;
}

MessageRounds messages_of(const Json& json, int ranks) {
  MessageRounds made;
  made.bytes = json.at("bytes");
  made.channels = json.at("channels");
  made.parts = json.at("parts");
  made.part_bytes = json.at("part_bytes");
  made.chunk_bytes = json.at("chunk_bytes");
  made.group_size = json.at("group_size");
  made.rounds = json.at("rounds").get<std::vector<std::array<int, 3>>>();
  require(made.chunk_bytes > 0 && made.channels > 0, "expected chunks and channels");
  require(made.group_size >= 1 && ranks % made.group_size == 0, "expected whole groups");
  return made;
}

Work work_of(const Json& json, Collective collective) {
  Work work;
  work.collective = collective;
  work.size = json.at("size");
  work.algorithm = named<Algorithm>(algorithm_names, json.at("algorithm"));
  work.protocol = named<Protocol>(protocol_names, json.at("protocol"));
  work.ranks = json.at("ranks");
  work.element_bytes = json.at("element_bytes");
  work.root = json.at("root");
  work.step_bytes = json.at("step_bytes");
  require(work.ranks >= 2 && work.ranks <= 4096, "expected 2 to 4096 ranks");
  require(work.step_bytes > 0, "expected a FIFO");
  const bool reduces = collective == Collective::reduce_scatter ||
                       collective == Collective::all_reduce || collective == Collective::reduce;
  require(!reduces || work.element_bytes == 4, "reductions are of float here");
  if (work.algorithm == Algorithm::messages) {
    work.messages = messages_of(json.at("messages"), work.ranks);
  } else {
    for (const Json& one : json.at("channels")) work.channels.push_back(channel_of(one, work));
  }
  return work;
}

}  // namespace

std::expected<std::vector<Work>, std::string> parse_works(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    require(json.at("schema") == "shardsim.chunk-work/1", "expected schema shardsim.chunk-work/1");
    const auto collective = named<Collective>(collective_names, json.at("collective"));
    std::vector<Work> works;
    for (const Json& one : json.at("works")) works.push_back(work_of(one, collective));
    return works;
  } catch (const std::exception& problem) {
    return std::unexpected(problem.what());
  }
}

std::expected<std::vector<Work>, std::string> read_works(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::unexpected(file + ": cannot be read");
  auto works = parse_works({std::istreambuf_iterator<char>(in), {}});
  if (!works) return std::unexpected(file + ": " + works.error());
  return works;
}

}  // namespace shardsim::reference
