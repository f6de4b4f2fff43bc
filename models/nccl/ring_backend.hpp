// Carries out the collectives of the CUDA runtime as flows on the network.
//
// Models: nothing moves before the last member's kernel has started; then the collective's latency
// passes, then its data flow, and all members' kernels end together. A prescribed time counts from
// the last arrival. Assumes that members issue equal collectives in equal order; the first that
// does not is reported, and that communicator never goes on, as NCCL's would not.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "models/cuda/collective_backend.hpp"
#include "models/nccl/collective_model.hpp"
#include "models/nccl/communicator.hpp"
#include "models/network/flow_network.hpp"
#include "models/network/link_schedule.hpp"
#include "simcore/event_queue.hpp"
#include "simcore/probe.hpp"

namespace shardsim::nccl {

/// Two members of one communicator that met with different collectives.
struct CollectiveMismatch {
  std::uint32_t instance = 0;
  std::string role;
  int first_rank = 0;
  cuda::CollectiveSpec first;
  int other_rank = 0;
  cuda::CollectiveSpec other;
};

using CollectiveFailure = std::variant<CollectiveMismatch, NoRoute>;

/// One sentence that names ranks and collectives.
std::string to_text(const CollectiveFailure& failure);

/// A collective that has ended.
struct CollectiveRecord {
  std::uint32_t instance = 0;
  const cuda::CollectiveSpec* spec = nullptr;
  simcore::SimTime first_arrival;
  simcore::SimTime last_arrival;
  simcore::SimTime data_start;  ///< after the latency; the end if no data moved
  simcore::SimTime end;
  std::string_view algorithm;  ///< empty for a prescribed time and for one rank
  std::string_view protocol;
  int channels = 0;
  double flow_bytes = 0;  ///< on the wire, per link of weight 1
};

/// A member's kernel has started.
struct ArrivalRecord {
  std::uint32_t instance = 0;
  std::uint32_t member = 0;
  simcore::SimTime time;
};

class RingBackend final : public cuda::CollectiveBackend,
                          private simcore::EventReceiver,
                          private network::FlowListener,
                          public network::LinkChangeListener {
 public:
  /// All must outlive the backend.
  RingBackend(const network::Graph& graph, network::FlowNetwork& flows, simcore::EventQueue& queue,
              const CollectiveModel& model);
  ~RingBackend() override;

  /// Returns the instance's number; the first is 0.
  std::uint32_t add_communicator(CommunicatorSpec spec);
  /// Works out the instance's rings now rather than at its first collective.
  std::expected<void, NoRoute> prepare(std::uint32_t instance);
  /// How the instance would carry out a collective; null, with failure() set, if it has no route.
  /// Without effect on the run.
  const CollectiveTiming* timing(std::uint32_t instance, const cuda::CollectiveSpec& spec);
  /// Null before the first collective without a prescribed time.
  const CommunicatorPlan* plan(std::uint32_t instance) const;

  void attach(cuda::CollectiveListener& listener) override { listener_ = &listener; }
  void arrive(std::uint32_t instance, std::uint32_t member,
              const cuda::CollectiveSpec& spec) override;

  /// Links have failed or come back: what is under way goes on along new ways, and what is to come
  /// is planned around the outages. Where there is no way, failure() says so.
  void outages_changed(const network::LinkOutages& outages) override;

  /// What went wrong first on one communicator, which stands still from then on; null if nothing
  /// did.
  const CollectiveFailure* failure(std::uint32_t instance) const {
    const auto& failure = instances_[instance].failure;
    return failure ? &*failure : nullptr;
  }
  /// When it did.
  simcore::SimTime failed_at(std::uint32_t instance) const {
    return instances_[instance].failed_at;
  }

  /// A collective whose data are moving, at which rate; nothing if there is none.
  struct Moving {
    std::string_view role;
    const cuda::CollectiveSpec* spec = nullptr;
    simcore::BitRate rate;
    std::optional<network::LinkId> slowest;  ///< the link that a byte of it occupies longest
  };
  std::optional<Moving> slowest_moving() const;
  /// Of all collectives that ended after a second or more, that which took longest from its last
  /// arrival; the first of equal ones.
  struct Longest {
    std::string_view role;
    const cuda::CollectiveSpec* spec = nullptr;
    simcore::SimTime time;
    simcore::SimTime latency;  ///< part of `time` before data moved
    std::optional<network::LinkId> slowest;
  };
  const std::optional<Longest>& longest() const { return longest_; }

  simcore::Probe<ArrivalRecord> member_arrived;
  simcore::Probe<CollectiveRecord> collective_finished;

 private:
  struct Prepared {
    CollectiveTiming timing;
    network::LinkSetId links = 0;
  };
  using Key = std::tuple<cuda::CollectiveKind, std::int64_t, gpu::DataType>;
  struct Instance {
    CommunicatorSpec spec;
    std::unique_ptr<CommunicatorPlan> plan;  ///< of the first group: how all are carried out
    /// Of the other groups: each finds its ways by itself, as it would alone.
    std::vector<CommunicatorPlan> others;
    std::map<Key, Prepared> prepared;
    /// CollectiveTiming::share as first planned: a flow that goes around an outage keeps its units.
    std::map<Key, double> shares;
    std::uint32_t arrived = 0;
    std::uint32_t first_member = 0;
    const Prepared* running = nullptr;    ///< null for a prescribed time
    std::optional<network::FlowId> flow;  ///< while data move
    CollectiveRecord record;
    std::optional<CollectiveFailure> failure;
    simcore::SimTime failed_at;
  };

  void on_event(const simcore::Event& event) override;
  void flow_finished(network::FlowId flow, std::uint64_t token) override;
  void begin(std::uint32_t instance);
  void start_data(std::uint32_t instance);
  void finish(std::uint32_t instance);
  void go_around(std::uint32_t instance);
  std::expected<network::LinkSetId, NoRoute> links_of(Instance& in, const Traffic& traffic,
                                                      double share);
  const Prepared* find_timing(std::uint32_t instance, const cuda::CollectiveSpec& spec);
  bool may_have_no_route() const;
  std::optional<network::LinkId> slowest_link(const Instance& in) const;
  void note_duration(const Instance& in);
  void fail(std::uint32_t instance, CollectiveFailure failure);

  const network::Graph& graph_;
  network::FlowNetwork& flows_;
  simcore::EventQueue& queue_;
  const CollectiveModel& model_;
  cuda::CollectiveListener* listener_ = nullptr;
  std::vector<Instance> instances_;
  const network::LinkOutages* outages_ = nullptr;
  std::optional<Longest> longest_;
};

}  // namespace shardsim::nccl
