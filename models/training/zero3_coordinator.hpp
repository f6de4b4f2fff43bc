// DeepSpeed's parameter coordinator of ZeRO stage 3: which parameters are gathered, fetched ahead
// and released around each module.
//
// Models: the trace of modules that the first micro-batch leaves; from the second on the fetch
// queue, from which each module prefetches up to a bucket; parameters that stay because they are
// persistent, because they are used again within max_reuse_distance elements, or because the
// prefetcher has passed over their next use.
// Assumes that every micro-batch runs the same modules in the same order.
// Leaves out CPU and NVMe offload, quantised weights, secondary partitions (hpZ), leaf modules.
// Source: deepspeed/runtime/zero/partitioned_param_coordinator.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace shardsim::training {

using ParameterId = std::size_t;

struct CoordinatedParameter {
  std::int64_t elements = 0;
  bool persistent = false;  ///< once gathered, never released by the coordinator
};

/// In elements.
struct CoordinatorLimits {
  std::int64_t prefetch_bucket = 0;
  std::int64_t max_live = 0;
  std::int64_t max_reuse_distance = 0;
};

/// What the coordinator decides, in its order.
class ParameterActions {
 public:
  virtual ~ParameterActions() = default;
  /// One coalesced all-gather of the set, whose parameters are then in flight.
  virtual void all_gather(std::span<const ParameterId> set, bool prefetch) = 0;
  /// The parameter, in flight until now, is assembled.
  virtual void assemble(ParameterId parameter) = 0;
  /// Compute waits for the module's parameters.
  virtual void wait(std::span<const ParameterId> module) = 0;
  virtual void release(std::span<const ParameterId> set) = 0;
};

class Zero3Coordinator {
 public:
  /// `actions` outlives the coordinator.
  Zero3Coordinator(const CoordinatorLimits& limits,
                   const std::vector<CoordinatedParameter>& parameters, ParameterActions& actions);

  /// Before a module's forward or backward; `module` may be empty and names no parameter twice.
  void fetch(std::span<const ParameterId> module);
  /// After it.
  void release(std::span<const ParameterId> module);
  /// Forward and backward of a micro-batch are done; the first completes the trace.
  void end_micro_batch();
  /// Around the optimizer step: releases everything; the caller gathers the persistent ones anew.
  void release_all();

  bool traced() const { return traced_; }
  /// Elements gathered or in flight, without persistent ones that the last step left.
  std::int64_t live_elements() const { return live_elements_; }

 private:
  enum class Status : std::uint8_t { partitioned, in_flight, gathered };
  struct Parameter {
    std::int64_t elements = 0;
    bool persistent = false;
    Status status = Status::partitioned;
    std::int64_t passed_use = 0;  ///< latest step whose use the fetch queue has passed
  };
  struct Use {
    ParameterId parameter = 0;
    std::int64_t step = 0;
  };

  void all_gather(const std::vector<ParameterId>& set, bool prefetch);
  void assemble(ParameterId id);
  void drop_from_queue(std::span<const ParameterId> module);
  void prefetch();
  bool used_again_soon(ParameterId id) const;

  CoordinatorLimits limits_;
  std::vector<Parameter> parameters_;
  ParameterActions& actions_;

  std::vector<std::vector<ParameterId>> trace_;  ///< the modules of a micro-batch, in order
  bool traced_ = false;
  std::deque<Use> queue_;  ///< uses that nothing has been fetched for yet
  std::int64_t step_ = 0;  ///< fetches so far in this micro-batch
  std::int64_t live_elements_ = 0;
};

}  // namespace shardsim::training
