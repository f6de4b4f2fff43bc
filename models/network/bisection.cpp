#include "models/network/bisection.hpp"

#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace shardsim::network {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
// Whole MB/s: the algorithm compares what is left with 0.
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, long,
        boost::property<boost::edge_residual_capacity_t, long,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_cable(FlowGraph& flow, VertexId from, VertexId to, long capacity) {
  const auto there = boost::add_edge(from, to, flow).first;
  const auto back = boost::add_edge(to, from, flow).first;
  boost::put(boost::edge_capacity, flow, there, capacity);
  boost::put(boost::edge_capacity, flow, back, 0L);
  boost::put(boost::edge_reverse, flow, there, back);
  boost::put(boost::edge_reverse, flow, back, there);
}

}  // namespace

simcore::BitRate bisection_bandwidth(const Graph& graph) {
  const int gpus = graph.gpu_count();
  if (gpus < 2) return {};
  const auto count = static_cast<VertexId>(graph.vertices().size());
  FlowGraph flow(count + 2);
  long all = 0;
  for (const Link& link : graph.links()) {
    const long capacity = static_cast<long>(link.bandwidth.bytes_per_second / 1e6);
    add_cable(flow, link.from, link.to, capacity);
    all += capacity;
  }
  for (int rank = 0; rank < gpus; ++rank) {
    const bool first = rank < gpus / 2;
    add_cable(flow, first ? count : graph.gpu(rank), first ? graph.gpu(rank) : count + 1, all);
  }
  const long most = boost::push_relabel_max_flow(flow, count, count + 1);
  return simcore::BitRate{static_cast<double>(most) * 1e6};
}

}  // namespace shardsim::network
