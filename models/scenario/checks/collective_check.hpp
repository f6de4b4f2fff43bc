// Watches the collectives of a run: who came, what moved, when it ended.
//
// Holds every collective to: its data move only when all members have arrived, and it ends after
// that; what its flow is given to move is what the collective has to move; and each rank receives
// and sends at least what the operation cannot do without, by the links of its GPU. For S bytes
// on n ranks these are, received and sent:
//   all-reduce      S, S                      all-gather      S (n-1)/n, S/n
//   reduce-scatter  S/n, S (n-1)/n            broadcast       S by all but the root; S by the root
//   reduce          S by the root; S by all but the root
//   all-to-all      S (n-1)/n both            send-receive    S both
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/communicator.hpp"
#include "models/nccl/ring_backend.hpp"
#include "models/network/flow_network.hpp"
#include "models/network/graph.hpp"
#include "models/scenario/checks/check_log.hpp"

namespace shardsim::scenario {

/// Bytes that the rank at a place of a communicator cannot do without.
struct LeastBytes {
  double received = 0;
  double sent = 0;
};
LeastBytes least_bytes(cuda::CollectiveKind kind, double bytes, std::size_t ranks,
                       std::size_t place);

/// Bytes that a GPU's links take in and give out, by GPU, for each byte of a flow.
class PortBytes {
 public:
  explicit PortBytes(const network::Graph& graph);
  void add(std::span<const network::LinkUse> links);
  /// Forgets what was added.
  void clear();
  double in(int gpu) const { return in_[static_cast<std::size_t>(gpu)]; }
  double out(int gpu) const { return out_[static_cast<std::size_t>(gpu)]; }

 private:
  const network::Graph& graph_;
  std::vector<int> gpu_of_vertex_;  ///< -1: none
  std::vector<double> in_;
  std::vector<double> out_;
  std::vector<int> touched_;
};

/// Compares what a flow of so many bytes moves at each rank with what it must; `where` names the
/// collective.
void check_parts(const PortBytes& ports, double flow_bytes, const std::vector<int>& group,
                 cuda::CollectiveKind kind, double bytes, simcore::SimTime now,
                 const std::string& where, CheckLog& log);

class CollectiveCheck {
 public:
  /// A collective that has ended, as its ranks must have seen it.
  struct Ended {
    simcore::SimTime last_arrival;
    simcore::SimTime end;
  };

  /// `compare_parts`: flows stand for the bytes of their data path, as with fidelity `flow`. All
  /// must outlive the check.
  CollectiveCheck(const network::Graph& graph, bool compare_parts, CheckLog& log);
  /// In the order of the backend's numbers; must outlive the check.
  void add_communicator(const nccl::CommunicatorSpec& spec) { instances_.push_back({&spec}); }

  void listen(nccl::RingBackend& backend, network::FlowNetwork& flows);
  void arrived(const nccl::ArrivalRecord& record);
  void flow_started(const network::FlowRecord& record);
  void finished(const nccl::CollectiveRecord& record);

  /// By instance, in order.
  const std::vector<Ended>& ended(std::uint32_t instance) const {
    return instances_[instance].ended;
  }

 private:
  struct Instance {
    const nccl::CommunicatorSpec* spec = nullptr;
    std::vector<simcore::SimTime> arrivals{};  ///< by member, of the present collective
    std::uint32_t arrived = 0;
    std::vector<network::LinkUse> links{};  ///< of its flow
    double flow_bytes = 0;
    bool flows = false;
    std::vector<Ended> ended{};
  };
  void check_order(const Instance& instance, const nccl::CollectiveRecord& record);
  void check_bytes(const Instance& instance, const nccl::CollectiveRecord& record);
  std::string where(const nccl::CollectiveRecord& record) const;

  bool compare_parts_;
  CheckLog& log_;
  PortBytes ports_;
  std::vector<Instance> instances_;
};

}  // namespace shardsim::scenario
