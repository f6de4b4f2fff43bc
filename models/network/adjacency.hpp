// Who is joined to whom: the arcs of each vertex, flat, in order of the other end.
//
// The order makes every walk deterministic. Built arc by arc; clusters add them nearly in order, so
// that most go to the end. Two million devices with ten million links take about 250 MB.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/network/span_pool.hpp"

namespace shardsim::network {

struct Arc {
  std::uint32_t other = 0;  ///< vertex at the other end
  std::uint32_t link = 0;
};

class Adjacency {
 public:
  void add_vertex();
  /// False, and nothing done, if there is such an arc already.
  bool add_link(std::uint32_t from, std::uint32_t to, std::uint32_t link);

  std::size_t vertex_count() const { return out_.size(); }
  std::span<const Arc> from(std::uint32_t vertex) const { return arcs_.view(out_[vertex]); }
  std::span<const Arc> to(std::uint32_t vertex) const { return arcs_.view(in_[vertex]); }
  std::optional<std::uint32_t> find(std::uint32_t from, std::uint32_t to) const;

 private:
  void insert(PoolSpan& arcs, const Arc& arc);

  SpanPool<Arc> arcs_;
  std::vector<PoolSpan> out_;  ///< by vertex
  std::vector<PoolSpan> in_;
};

}  // namespace shardsim::network
