// What flows cost: rings message by message, all-to-all, random permutations, and coupled flows.
//
// The cluster is nodes of eight GPUs. Each GPU has an NVLink port to its node's switch and a NIC on
// a fabric that never blocks: four links a GPU.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/network/flow_network.hpp"

namespace {

using namespace shardsim;
using network::LinkId;
using network::LinkUse;

constexpr int gpus_per_node = 8;
enum Port : std::uint32_t { nvlink_out, nvlink_in, nic_out, nic_in, port_count };

LinkId port(int gpu, Port which) { return static_cast<LinkId>(gpu) * port_count + which; }

network::Graph cluster(int gpus) {
  network::Graph graph;
  const auto fabric = graph.add_vertex({network::DeviceKind::network_switch, -1, 0, 0});
  network::VertexId node_switch = 0;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const int node = gpu / gpus_per_node;
    const int local = gpu % gpus_per_node;
    if (local == 0) node_switch = graph.add_vertex({network::DeviceKind::nvswitch, node, 0, 0});
    const auto device = graph.add_vertex({network::DeviceKind::gpu, node, local, 0});
    const auto nvlink = simcore::BitRate{400e9};
    const auto nic = simcore::BitRate{50e9};
    graph.add_link({device, node_switch, network::LinkKind::nvlink, nvlink, {}});
    graph.add_link({node_switch, device, network::LinkKind::nvlink, nvlink, {}});
    graph.add_link({device, fabric, network::LinkKind::network, nic, {}});
    graph.add_link({fabric, device, network::LinkKind::network, nic, {}});
  }
  return graph;
}

std::array<LinkUse, 2> path(int from, int to) {
  const bool same_node = from / gpus_per_node == to / gpus_per_node;
  return {LinkUse{port(from, same_node ? nvlink_out : nic_out), 1.0},
          LinkUse{port(to, same_node ? nvlink_in : nic_in), 1.0}};
}

class Counter : public network::FlowListener {
 public:
  void flow_finished(network::FlowId, std::uint64_t) override { ++finished; }
  std::uint64_t finished = 0;
};

void run(simcore::EventQueue& queue) {
  while (queue.step()) {
  }
}

/// `runs`: how often the network carried the pattern.
void report(benchmark::State& state, const network::FlowNetwork& flows, double runs) {
  const auto counters = flows.counters();
  const auto per_run = [runs](std::uint64_t count) { return static_cast<double>(count) / runs; };
  state.counters["flows/s"] =
      benchmark::Counter(per_run(counters.flows), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["flows"] = per_run(counters.flows);
  state.counters["solves"] = per_run(counters.solves);
  state.counters["rates"] = per_run(counters.rates_solved);
}

// All-gather by messages: each GPU forwards to the next as soon as it has received.
class MessageRing final : public network::FlowListener {
 public:
  MessageRing(network::FlowNetwork& flows, int gpus)
      : flows_(flows), gpus_(gpus), sent_(static_cast<std::size_t>(gpus), 0) {
    for (int gpu = 0; gpu < gpus; ++gpu) send(gpu);
  }
  void flow_finished(network::FlowId, std::uint64_t sender) override {
    const int receiver = (static_cast<int>(sender) + 1) % gpus_;
    if (sent_[static_cast<std::size_t>(receiver)] < gpus_ - 1) send(receiver);
  }

 private:
  void send(int gpu) {
    ++sent_[static_cast<std::size_t>(gpu)];
    flows_.start(path(gpu, (gpu + 1) % gpus_), 1e9 / gpus_, {}, *this,
                 static_cast<std::uint64_t>(gpu));
  }
  network::FlowNetwork& flows_;
  int gpus_;
  std::vector<int> sent_;
};

void ring_by_messages(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  const network::Graph graph = cluster(gpus);
  for (auto _ : state) {
    simcore::EventQueue queue;
    network::FlowNetwork flows(graph, queue);
    MessageRing ring(flows, gpus);
    run(queue);
    report(state, flows, 1);
  }
}
BENCHMARK(ring_by_messages)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void all_to_all(benchmark::State& state, bool equal) {
  const int gpus = static_cast<int>(state.range(0));
  const network::Graph graph = cluster(gpus);
  for (auto _ : state) {
    simcore::EventQueue queue;
    network::FlowNetwork flows(graph, queue);
    Counter counter;
    std::mt19937 random(1);
    for (int from = 0; from < gpus; ++from) {
      for (int to = 0; to < gpus; ++to) {
        const auto extra = static_cast<double>(random() % 1'000'000);
        const double bytes = equal ? 1e6 : 1e6 + extra;
        if (from != to) flows.start(path(from, to), bytes, {}, counter, 0);
      }
    }
    run(queue);
    report(state, flows, 1);
  }
}
BENCHMARK_CAPTURE(all_to_all, equal, true)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_to_all, unequal, false)->Arg(64)->Arg(128)->Unit(benchmark::kMillisecond);

void random_permutations(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  const network::Graph graph = cluster(gpus);
  for (auto _ : state) {
    simcore::EventQueue queue;
    network::FlowNetwork flows(graph, queue);
    Counter counter;
    std::mt19937 random(1);
    std::vector<int> to(static_cast<std::size_t>(gpus));
    std::iota(to.begin(), to.end(), 0);
    for (int permutation = 0; permutation < 64; ++permutation) {
      std::shuffle(to.begin(), to.end(), random);
      for (int from = 0; from < gpus; ++from) {
        const int target = to[static_cast<std::size_t>(from)];
        if (target != from) flows.start(path(from, target), 1e6, {}, counter, 0);
      }
    }
    run(queue);
    report(state, flows, 1);
  }
}
BENCHMARK(random_permutations)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

std::vector<LinkUse> ring_links(int gpus) {
  std::vector<LinkUse> uses;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    uses.push_back({port(gpu, nvlink_out), 0.875});
    uses.push_back({port(gpu, nvlink_in), 0.875});
    uses.push_back({port(gpu, nic_out), 0.125});
    uses.push_back({port(gpu, nic_in), 0.125});
  }
  return uses;
}

// One collective over every link of the cluster; the set of links is known beforehand.
void coupled_flow(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0)) / port_count;
  const network::Graph graph = cluster(gpus);
  simcore::EventQueue queue;
  network::FlowNetwork flows(graph, queue);
  Counter counter;
  const auto ring = flows.add_link_set(ring_links(gpus));
  for (auto _ : state) {
    flows.start(ring, 1e9, {}, counter, 0);
    run(queue);
  }
  report(state, flows, static_cast<double>(state.iterations()));
}
BENCHMARK(coupled_flow)->Arg(16'384)->Arg(131'072);

// The same where every link differs from all others, so that nothing can be folded.
void coupled_flow_irregular(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0)) / port_count;
  const network::Graph graph = cluster(gpus);
  simcore::EventQueue queue;
  network::FlowNetwork flows(graph, queue);
  Counter counter;
  for (LinkId link = 0; link < graph.links().size(); ++link) {
    flows.set_bandwidth(link, simcore::BitRate{50e9 + link});
  }
  const auto ring = flows.add_link_set(ring_links(gpus));
  for (auto _ : state) {
    flows.start(ring, 1e9, {}, counter, 0);
    run(queue);
  }
  report(state, flows, static_cast<double>(state.iterations()));
}
BENCHMARK(coupled_flow_irregular)->Arg(16'384)->Unit(benchmark::kMicrosecond);

// Making the set of links known, the first time.
void coupled_flow_first_start(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0)) / port_count;
  const network::Graph graph = cluster(gpus);
  const auto uses = ring_links(gpus);
  for (auto _ : state) {
    state.PauseTiming();
    simcore::EventQueue queue;
    network::FlowNetwork flows(graph, queue);
    Counter counter;
    state.ResumeTiming();
    flows.start(uses, 1e9, {}, counter, 0);
    run(queue);
  }
}
BENCHMARK(coupled_flow_first_start)->Arg(16'384)->Unit(benchmark::kMicrosecond);

}  // namespace
