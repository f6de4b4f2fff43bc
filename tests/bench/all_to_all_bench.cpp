// An all-to-all on a fat-tree, every flow on its own, all at once: the other side of
// simgrid_all_to_all.cpp; compare_simgrid.py runs both.
//
//     all_to_all_bench HOSTS equal|jittered [FILE]
//
// Sixteen hosts a leaf of a full two-level tree with as many spines as a leaf has hosts, links of
// 10^10 bytes/s without latency; receivers are dealt out over the spines by their port. Each host
// sends every other 10^6 bytes, or, jittered, up to twice as many. Prints flows, CPU seconds and
// the last completion; FILE gets every flow's own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/flow_network.hpp"
#include "models/network/route_finder.hpp"
#include "tests/bench/all_to_all_sizes.hpp"

namespace {

using namespace shardsim;
using network::VertexId;

constexpr int hosts_per_leaf = 16;
constexpr simcore::BitRate link_rate{1e10};

struct FatTree {
  network::Graph graph;
  std::vector<VertexId> hosts;

  explicit FatTree(int count) {
    const auto join = [this](VertexId a, VertexId b) {
      graph.add_link({a, b, network::LinkKind::network, link_rate, {}});
      graph.add_link({b, a, network::LinkKind::network, link_rate, {}});
    };
    std::vector<VertexId> leaves;
    for (int host = 0; host < count; ++host) {
      if (host % hosts_per_leaf == 0) {
        leaves.push_back(
            graph.add_vertex({network::DeviceKind::network_switch, -1, host / hosts_per_leaf, 0}));
      }
      hosts.push_back(graph.add_vertex({network::DeviceKind::nic, host, 0, 0}));
      join(hosts.back(), leaves.back());
    }
    for (int spine = 0; spine < hosts_per_leaf; ++spine) {
      const VertexId top = graph.add_vertex({network::DeviceKind::network_switch, -1, spine, 1});
      for (const VertexId leaf : leaves) join(leaf, top);
    }
  }
};

class Ends final : public network::FlowListener {
 public:
  Ends(const simcore::EventQueue& queue, std::size_t flows) : queue_(queue), times_(flows, 0) {}
  void flow_finished(network::FlowId, std::uint64_t token) override {
    times_[token] = queue_.now().seconds();
  }
  double last() const {
    double latest = 0;
    for (const double time : times_) latest = time > latest ? time : latest;
    return latest;
  }
  const std::vector<double>& times() const { return times_; }

 private:
  const simcore::EventQueue& queue_;
  std::vector<double> times_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: all_to_all_bench HOSTS equal|jittered [FILE]\n", stderr);
    return 2;
  }
  const int hosts = std::atoi(argv[1]);
  const bool jittered = std::string_view(argv[2]) == "jittered";
  const std::clock_t begin = std::clock();
  const FatTree tree(hosts);
  simcore::EventQueue queue;
  network::FlowNetwork flows(tree.graph, queue);
  network::RouteFinder routes(tree.graph);
  Ends ends(queue, static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts));
  bench::Sizes sizes(jittered);
  for (int from = 0; from < hosts; ++from) {
    for (int to = 0; to < hosts; ++to) {
      if (from == to) continue;
      const auto way = routes.ways(tree.hosts[static_cast<std::size_t>(from)],
                                   tree.hosts[static_cast<std::size_t>(to)]);
      flows.start(way, sizes.next(), {}, ends, static_cast<std::uint64_t>(from * hosts + to));
    }
  }
  while (queue.step()) {
  }
  const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const auto counters = flows.counters();
  std::printf(
      "shardsim all_to_all %s hosts %d flows %d cpu_s %.4f last_s %.12g solves %llu rates %llu "
      "classes %llu\n",
      argv[2], hosts, hosts * (hosts - 1), cpu, ends.last(),
      static_cast<unsigned long long>(counters.solves),
      static_cast<unsigned long long>(counters.rates_solved),
      static_cast<unsigned long long>(counters.classes_solved));
  if (argc < 4) return 0;
  std::FILE* file = std::fopen(argv[3], "w");
  if (file == nullptr) return 1;
  for (const double time : ends.times()) std::fprintf(file, "%.15g\n", time);
  std::fclose(file);
  return 0;
}
