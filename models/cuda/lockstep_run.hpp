// Runs one program on many ranks at once: for each operation all ranks, instead of for each event
// one rank.
//
// Models what Runtime models, with the same arithmetic, for programs that plan_lockstep accepts and
// ranks that differ in slowdown and jitter alone; a test holds the two to equal times. Ranks are
// worked off in tiles that stay in the cache from one collective to the next. A collective is then
// carried out once, by the backend, when the last rank has arrived: its cost is in proportion to
// the ranks, and so is everything else. Keeps of each rank when its steps begin and end; what else
// happened in a rank can be had by running it alone beside the collectives' times (replay_backend).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cuda/collective_backend.hpp"
#include "models/cuda/lockstep_plan.hpp"
#include "models/cuda/runtime.hpp"
#include "simcore/event_queue.hpp"

namespace shardsim::cuda {

struct CollectiveTimes {
  simcore::SimTime begin;  ///< the last rank has arrived
  simcore::SimTime end;
};

class LockstepRun final : private simcore::EventReceiver, private CollectiveListener {
 public:
  /// Null if the ranks cannot be run so. They are members 0, 1, ... of one instance, in order. All
  /// arguments must outlive the run.
  static std::unique_ptr<LockstepRun> make(const RuntimeSpec& spec,
                                           const std::vector<RankSetup>& ranks,
                                           CollectiveBackend& backend, simcore::EventQueue& queue);
  ~LockstepRun() override;

  /// Goes on to the end of the next collective; false when there is nothing more to do, be it that
  /// the collective found no end.
  bool advance();
  bool finished() const { return finished_; }
  /// Share of the collectives done, 0..1.
  double progress() const;
  /// Operations started and ended so far, those of all ranks.
  std::uint64_t operations() const { return operations_; }

  const std::vector<CollectiveTimes>& collectives() const { return times_; }
  /// [step][rank]
  const std::vector<std::vector<simcore::SimTime>>& step_begins() const { return begins_; }
  const std::vector<std::vector<simcore::SimTime>>& step_ends() const { return ends_; }

 private:
  struct Tile;
  LockstepRun(LockstepPlan plan, const RuntimeSpec& spec, const std::vector<RankSetup>& ranks,
              CollectiveBackend& backend, simcore::EventQueue& queue);

  void on_event(const simcore::Event& event) override;
  void collective_began(std::uint32_t instance) override;
  void member_finished(std::uint32_t instance, std::uint32_t member) override;

  void set_up_kernels();
  void run_segment(std::size_t begin, std::size_t end);
  void run_tile(Tile& tile, std::size_t begin, std::size_t end);
  void run_kernels(Tile& tile, const LockstepStep& step);
  bool carry_out(std::uint32_t collective);
  void forget_arrivals();

  const LockstepPlan plan_;
  const RuntimeSpec& spec_;
  const std::vector<RankSetup>& ranks_;
  const Program& program_;
  CollectiveBackend& backend_;
  simcore::EventQueue& queue_;
  std::uint32_t instance_ = 0;

  std::vector<std::vector<std::int64_t>> kernel_times_;  ///< [kernel][load], ps
  std::vector<bool> runs_kernels_;                       ///< by stream
  std::vector<Tile> tiles_;
  std::vector<std::vector<std::int64_t>> arrivals_;  ///< [collective][rank]; empty: forgotten
  std::vector<std::vector<std::int64_t>> spare_;     ///< of forgotten ones, for the next
  std::size_t remembered_ = 0;                       ///< the first that is not forgotten
  std::vector<LoadStep> loads_;                      ///< by collective
  std::vector<CollectiveTimes> times_;
  std::vector<std::vector<simcore::SimTime>> begins_;
  std::vector<std::vector<simcore::SimTime>> ends_;
  std::size_t segment_ = 0;
  std::uint32_t told_ = 0;  ///< members that know that the collective has ended
  std::uint64_t operations_ = 0;
  bool finished_ = false;
};

}  // namespace shardsim::cuda
