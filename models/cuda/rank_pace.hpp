// How a rank's pace deviates in time: jitter of its kernels, pauses, and the moment it dies.
//
// Models: a pause stops the rank's CPU thread and its kernels alike, as a frozen process, a page
// fault storm or a throttled board does; both go on where they were. A rank that dies is paused for
// ever. A collective whose data move already comes to its end all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/jitter.hpp"
#include "simcore/counter_random.hpp"
#include "simcore/time.hpp"

namespace shardsim::cuda {

struct Pause {
  simcore::SimTime from;
  simcore::SimTime length;
};

class RankPace {
 public:
  void add_jitter(const Jitter& jitter, int rank);
  void add_pause(const Pause& pause);
  void die_at(simcore::SimTime time);

  bool has_jitter() const { return !jitters_.empty(); }
  bool has_stops() const { return !stops_.empty(); }
  /// never() if it lives.
  simcore::SimTime dies() const { return dies_; }

  /// Factor on the time of the kernel that operation `op` of the program launches.
  double factor(std::uint32_t op) const;
  /// When `work` that begins at `from` is done; never() if it is not.
  simcore::SimTime after(simcore::SimTime from, simcore::SimTime work) const;
  /// Work done between two moments.
  simcore::SimTime worked(simcore::SimTime from, simcore::SimTime to) const;

 private:
  struct Stop {
    simcore::SimTime from;
    simcore::SimTime to;
  };
  struct Drawn {
    Jitter jitter;
    simcore::CounterStream stream;
  };
  void add_stop(Stop stop);

  std::vector<Drawn> jitters_;
  std::vector<Stop> stops_;  ///< by time, apart from one another
  simcore::SimTime dies_ = simcore::SimTime::never();
};

}  // namespace shardsim::cuda
