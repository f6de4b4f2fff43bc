#include "models/nccl/nvlink_mesh.hpp"

#include <algorithm>
#include <cmath>

namespace shardsim::nccl {

namespace {
constexpr std::size_t most_gpus = 16;
constexpr std::size_t most_rings = 64;
constexpr int units_per_link = 4;  // of the slowest link: finer shares than whole links
constexpr int most_steps = 1 << 14;
}  // namespace

NvlinkMesh::NvlinkMesh(const network::Graph& graph, std::span<const int> ranks)
    : ranks_(ranks.begin(), ranks.end()), units_(ranks.size() * ranks.size(), 0) {
  const std::size_t count = ranks_.size();
  if (count < 2 || count > most_gpus) return;
  std::vector<double> bandwidth(units_.size(), 0);
  double least = 0;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto link = graph.find_link(graph.gpu(ranks_[from]), graph.gpu(ranks_[to]));
      if (!link || graph.links()[*link].kind != network::LinkKind::nvlink) continue;
      const double b = graph.links()[*link].bandwidth.bytes_per_second;
      bandwidth[from * count + to] = b;
      if (b > 0 && (least <= 0 || b < least)) least = b;
    }
  }
  if (least <= 0) return;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i] = static_cast<int>(std::lround(bandwidth[i] / least * units_per_link));
  }
}

// Depth first over ranks not yet visited.
struct NvlinkMesh::Search {
  std::vector<int>& left;  ///< units, [from * count + to]
  std::size_t count;
  std::size_t last;  ///< where the path must end, or return to
  bool closed;
  int steps = most_steps;
  std::vector<std::size_t> path{};
  std::vector<bool> seen = std::vector<bool>(count, false);

  int units(std::size_t from, std::size_t to) const { return left[from * count + to]; }

  bool extend(std::size_t at) {
    if (--steps < 0) return false;
    path.push_back(at);
    seen[at] = true;
    if (path.size() == count && (closed ? units(at, last) > 0 : at == last)) return true;
    std::vector<std::size_t> next;
    for (std::size_t to = 0; to < count; ++to) {
      const bool too_early = !closed && to == last && path.size() + 1 < count;
      if (!seen[to] && units(at, to) > 0 && !too_early) next.push_back(to);
    }
    std::ranges::stable_sort(next, std::ranges::greater{},
                             [&](std::size_t to) { return units(at, to); });
    for (const std::size_t to : next) {
      if (extend(to)) return true;
    }
    path.pop_back();
    seen[at] = false;
    return false;
  }
};

std::vector<std::vector<int>> NvlinkMesh::rings() const {
  std::vector<std::vector<int>> rings;
  std::vector<int> left = units_;
  const std::size_t count = ranks_.size();
  while (rings.size() < most_rings && count > 1) {
    Search search{.left = left, .count = count, .last = 0, .closed = true};
    if (!search.extend(0)) break;
    std::vector<int> ring;
    ring.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      --left[search.path[i] * count + search.path[(i + 1) % count]];
      ring.push_back(ranks_[search.path[i]]);
    }
    rings.push_back(std::move(ring));
  }
  return rings;
}

std::size_t NvlinkMesh::index_of(int rank) const {
  return static_cast<std::size_t>(std::ranges::find(ranks_, rank) - ranks_.begin());
}

std::optional<std::vector<int>> NvlinkMesh::path(int from, int to) const {
  std::vector<int> left = units_;
  Search search{.left = left, .count = ranks_.size(), .last = index_of(to), .closed = false};
  if (!search.extend(index_of(from))) return std::nullopt;
  std::vector<int> path;
  path.reserve(search.path.size());
  for (const std::size_t i : search.path) path.push_back(ranks_[i]);
  return path;
}

}  // namespace shardsim::nccl
