#include "models/network/colour_refinement.hpp"

#include <bit>
#include <utility>

namespace shardsim::network {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
  hash ^= hash >> 32U;
  hash *= 0xd6e8feb86659fd93ULL;
  return hash ^ (hash >> 29U);
}

/// Numbers hashes in order of first appearance.
Colouring numbered(std::span<const std::uint64_t> hashes) {
  constexpr std::uint32_t free = 0;
  std::vector<std::uint32_t> places(std::bit_ceil(2 * hashes.size() + 2), free);
  std::vector<std::uint64_t> known;
  Colouring made;
  made.colour_of.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) {
    std::size_t place = hash & (places.size() - 1);
    while (places[place] != free && known[places[place] - 1] != hash) {
      place = (place + 1) & (places.size() - 1);
    }
    if (places[place] == free) {
      known.push_back(hash);
      places[place] = static_cast<std::uint32_t>(known.size());
    }
    made.colour_of.push_back(places[place] - 1);
  }
  made.colours = known.size();
  return made;
}

}  // namespace

Colouring refine_colours(const Graph& graph, std::span<const std::uint32_t> start) {
  const std::span<const Vertex> vertices = graph.vertices();
  std::vector<std::uint64_t> hashes;
  hashes.reserve(vertices.size());
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const std::uint64_t kind = static_cast<std::uint64_t>(vertices[v].kind) << 8U |
                               static_cast<std::uint64_t>(vertices[v].tier);
    hashes.push_back(mix(kind, start.empty() ? 0 : start[v]));
  }
  Colouring colouring = numbered(hashes);
  std::vector<std::uint64_t> seen(hashes.size());
  while (true) {
    seen.assign(hashes.size(), 0);
    for (const Link& link : graph.links()) {
      std::uint64_t label = mix(static_cast<std::uint64_t>(link.kind),
                                std::bit_cast<std::uint64_t>(link.bandwidth.bytes_per_second));
      label = mix(label, static_cast<std::uint64_t>(link.latency.picoseconds()));
      // Sums do not depend on the order of links.
      seen[link.from] += mix(label, hashes[link.to]);
      seen[link.to] += mix(label + 1, hashes[link.from]);
    }
    for (std::size_t v = 0; v < hashes.size(); ++v) hashes[v] = mix(hashes[v], seen[v]);
    Colouring finer = numbered(hashes);
    const bool stable = finer.colours == colouring.colours;
    colouring = std::move(finer);
    if (stable) return colouring;
  }
}

}  // namespace shardsim::network
