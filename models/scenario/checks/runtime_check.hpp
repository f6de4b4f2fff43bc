// Watches the simulated ranks: what runs when, and that everything that was begun ends.
//
// Holds each rank to its program's order (program_order.hpp) and to the launch: nothing starts
// before it was issued and the launch has taken its time; and to the collectives as the network
// carried them out: a rank's kernel is there before the last member has arrived and ends with the
// others'. Assumes that ranks repeat their program's last step, if at all, from an idle device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/runtime.hpp"
#include "models/scenario/checks/check_log.hpp"
#include "models/scenario/checks/collective_check.hpp"
#include "models/scenario/checks/program_order.hpp"

namespace shardsim::scenario {

class RuntimeCheck {
 public:
  /// Of more ranks than this the first are watched: each takes memory for all its operations.
  static constexpr std::size_t most_ranks = 512;

  /// `collectives`: what the network carried out; null: not compared. All must outlive the check.
  RuntimeCheck(const std::vector<cuda::RankSetup>& ranks, simcore::SimTime launch_latency,
               const CollectiveCheck* collectives, CheckLog& log);

  void listen(cuda::Runtime& runtime);
  void finished(const cuda::OpRecord& record);
  void cpu_waited(const cuda::CpuWaitRecord& record);
  void step(const cuda::StepRecord& record);

  /// The first `ranks` have come to the end of their programs.
  void all_ended(simcore::SimTime now, std::size_t ranks);

 private:
  struct Rank {
    const cuda::RankSetup* setup = nullptr;
    const ProgramOrder* order = nullptr;
    std::vector<simcore::SimTime> ends;      ///< by launch; never: not yet
    std::vector<std::uint32_t> collectives;  ///< ended, by communicator of the program
    std::uint64_t finished = 0;
    std::uint32_t wait = ProgramOrder::none;  ///< the CPU's wait that wait_over is of
    simcore::SimTime wait_over;
    std::uint32_t step = 0;  ///< that begins or ends next
    bool in_step = false;
    simcore::SimTime boundary;
  };
  std::string where(const Rank& rank, std::uint32_t op) const;
  simcore::SimTime last_end(const Rank& rank, std::uint32_t op) const;
  void check_launch(Rank& rank, const cuda::OpRecord& record);
  void check_collective(Rank& rank, const cuda::OpRecord& record);

  simcore::SimTime launch_latency_;
  const CollectiveCheck* collectives_;
  CheckLog& log_;
  std::map<const cuda::Program*, std::unique_ptr<ProgramOrder>> orders_;
  std::vector<Rank> ranks_;
};

}  // namespace shardsim::scenario
