// A network of separate links of given bandwidths, and a listener that notes who ended when.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "models/network/flow_network.hpp"

namespace shardsim::network {

inline constexpr double gigabyte_per_second = 1e9;

class FlowFixture : public FlowListener {
 public:
  /// Link i has bandwidths[i] bytes/s.
  explicit FlowFixture(const std::vector<double>& bandwidths)
      : graph_(graph_of(bandwidths)), network(graph_, queue) {}

  void flow_finished(FlowId, std::uint64_t token) override {
    ends.emplace_back(token, queue.now().picoseconds());
  }

  FlowId start(std::initializer_list<LinkUse> uses, double bytes, double cap = 0) {
    return start(std::vector<LinkUse>(uses), bytes, cap);
  }
  /// Tokens count from 0.
  FlowId start(const std::vector<LinkUse>& uses, double bytes, double cap = 0) {
    return network.start(uses, bytes, simcore::BitRate{cap}, *this, next_token_++);
  }
  double rate(FlowId flow) const { return network.rate(flow).bytes_per_second; }
  double bytes_on(LinkId link) const { return network.statistics(link).bytes; }

  void run() {
    while (queue.step()) {
    }
  }
  /// Handles everything up to `time`, and lets time pass until then.
  void run_until(simcore::SimTime time) {
    struct Nothing final : simcore::EventReceiver {
      void on_event(const simcore::Event&) override {}
    } nothing;
    queue.schedule(time, nothing, 0, 0, 2'000'000);
    while (queue.next_time() <= time && queue.step()) {
    }
  }
  /// End of the flow with this token in picoseconds; -1 if it has not ended.
  std::int64_t end_of(std::uint64_t token) const {
    for (const auto& [ended, time] : ends) {
      if (ended == token) return time;
    }
    return -1;
  }

 private:
  static Graph graph_of(const std::vector<double>& bandwidths) {
    Graph graph;
    std::int32_t index = 0;
    for (const double bandwidth : bandwidths) {
      const auto add = [&graph, &index] {
        return graph.add_vertex(Vertex{DeviceKind::network_switch, -1, index++, 0});
      };
      const VertexId from = add();
      graph.add_link(Link{from, add(), LinkKind::network, simcore::BitRate{bandwidth}, {}});
    }
    return graph;
  }

  Graph graph_;
  std::uint64_t next_token_ = 0;

 public:
  simcore::EventQueue queue;
  FlowNetwork network;
  std::vector<std::pair<std::uint64_t, std::int64_t>> ends;  ///< token, picosecond
};

/// Nearest picosecond to bytes / rate.
inline std::int64_t transfer_picoseconds(double bytes, double bytes_per_second) {
  return std::llroundl(static_cast<long double>(bytes) / bytes_per_second * 1e12L);
}

}  // namespace shardsim::network
