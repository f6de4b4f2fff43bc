#include "models/network/adjacency.hpp"

#include <algorithm>
#include <utility>

namespace shardsim::network {

void Adjacency::add_vertex() {
  out_.emplace_back();
  in_.emplace_back();
}

void Adjacency::insert(PoolSpan& arcs, const Arc& arc) {
  arcs_.push_back(arcs, arc);
  for (std::uint32_t i = arcs.size - 1; i > 0; --i) {
    Arc& before = arcs_.at(arcs, i - 1);
    if (before.other < arc.other) break;
    std::swap(before, arcs_.at(arcs, i));
  }
}

bool Adjacency::add_link(std::uint32_t from, std::uint32_t to, std::uint32_t link) {
  if (find(from, to)) return false;
  insert(out_[from], Arc{to, link});
  insert(in_[to], Arc{from, link});
  return true;
}

std::optional<std::uint32_t> Adjacency::find(std::uint32_t from, std::uint32_t to) const {
  // The shorter list; a switch may have a hundred thousand ports.
  const std::span<const Arc> out = this->from(from);
  const std::span<const Arc> in = this->to(to);
  const bool forward = out.size() <= in.size();
  const std::span<const Arc> arcs = forward ? out : in;
  const std::uint32_t wanted = forward ? to : from;
  const auto found = std::ranges::lower_bound(arcs, wanted, {}, &Arc::other);
  if (found == arcs.end() || found->other != wanted) return std::nullopt;
  return found->link;
}

}  // namespace shardsim::network
