// Collectives as NCCL carries them out: it chooses, and the choice's data path takes the time.
//
// Models: algorithm, protocol, channels, threads and chunk as NCCL of that version and environment
// chooses them on the communicator's machine (planner.hpp, choice.hpp); the time of that choice
// (collective_timing.hpp) as latency and one coupled flow over the links of its rings or trees. At
// chunk level (chunk/chunked_collective.hpp) the time is that of all its messages; what they take
// beyond moving their bytes at the flow's rate is the latency, so that other traffic slows the
// rest. Where a communicator has no place in NCCL's view (nodes of unequal size), rings with
// general constants take its place, and a note says so. Leaves out CollNet, whose operations run as
// rings with a note, groups of several operations, and registered buffers.
#pragma once

#include <expected>
#include <optional>
#include <set>
#include <string>

#include "models/nccl/choice.hpp"
#include "models/nccl/chunk/chunk_result.hpp"
#include "models/nccl/chunk/chunk_work.hpp"
#include "models/nccl/collective_model.hpp"
#include "models/nccl/planner.hpp"
#include "models/nccl/ring_model.hpp"
#include "models/nccl/timing_constants.hpp"

namespace shardsim::nccl {

/// An operation's choice beside its timing.
struct CarriedOut {
  CollectiveTiming timing;
  std::optional<Choice> choice;  ///< none for messages, and where rings stand in
  std::int64_t messages = 0;     ///< at chunk level, of all ranks
  std::int64_t simulated = 0;    ///< of these, one by one
};

/// How finely the data path is simulated.
enum class DataPath : std::uint8_t {
  expected,  ///< not at all: NCCL's own expectation, where it has one
  flow,      ///< in closed form, as latency and a flow
  chunk,     ///< message by message
};

class NcclModel final : public CollectiveModel {
 public:
  /// The planner must outlive the model.
  NcclModel(const Planner& planner, TimingConstants constants, RingTuning stand_in,
            DataPath path = DataPath::flow);

  std::expected<CollectiveTiming, NoRoute> timing(const cuda::CollectiveSpec& spec,
                                                  CommunicatorPlan& plan) const override;
  std::expected<CarriedOut, NoRoute> carry_out(const cuda::CollectiveSpec& spec,
                                               CommunicatorPlan& plan) const;

  /// The same with the data path that is asked for.
  std::expected<CarriedOut, NoRoute> carry_out(const cuda::CollectiveSpec& spec,
                                               CommunicatorPlan& plan, DataPath path) const;
  /// Every message of the operation at chunk level, in the order of the trace. The error says why
  /// there are none.
  std::expected<void, std::string> trace(const cuda::CollectiveSpec& spec, CommunicatorPlan& plan,
                                         const TraceVisitor& visit) const;
  /// What NCCL's kernels are told of the operation: rings, trees and messages.
  std::expected<ChunkWork, std::string> work(const cuda::CollectiveSpec& spec,
                                             CommunicatorPlan& plan) const;

  /// What was not carried out as NCCL would, and why; sorted.
  const std::set<std::string>& notes() const { return notes_; }

 private:
  std::expected<CarriedOut, NoRoute> stand_in(const cuda::CollectiveSpec& spec,
                                              CommunicatorPlan& plan, std::string why) const;
  std::expected<CarriedOut, NoRoute> carry_out(const cuda::CollectiveSpec& spec,
                                               CommunicatorPlan& plan,
                                               const PlannedCommunicator& planned,
                                               DataPath path) const;
  /// Calls one of the two with the operation's messages or chunks.
  template <class OnMessages, class OnChunks>
  std::expected<void, std::string> at_chunk_level(const cuda::CollectiveSpec& spec,
                                                  CommunicatorPlan& plan,
                                                  const OnMessages& on_messages,
                                                  const OnChunks& on_chunks) const;
  std::expected<CarriedOut, NoRoute> send_messages(const cuda::CollectiveSpec& spec,
                                                   CommunicatorPlan& plan,
                                                   const PlannedCommunicator& planned,
                                                   DataPath path) const;

  const Planner& planner_;
  TimingConstants constants_;
  RingModel rings_;
  DataPath path_;
  mutable std::set<std::string> notes_;
};

}  // namespace shardsim::nccl
