// Which part of a sweep a task of a scheduler is to run: an index and a count in its environment.
//
// Read are Slurm's job arrays (SLURM_ARRAY_TASK_ID, _MIN, _STEP, _COUNT), tasks started by srun,
// Open MPI, MPICH and what descends from it, and the completion index of a Kubernetes job, which
// comes without a count. An array whose tasks start several processes is cut twice.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "models/scenario/sweep/shard.hpp"

namespace shardsim::cli {

/// The value of a variable; nothing if it is not set or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment current_environment();

struct ChosenShard {
  scenario::Shard shard;
  std::string from;  ///< the variables it was taken from; empty: it was given
};

/// `option` is what --shard says: empty (the environment decides, if it has anything to say), I/N,
/// `auto` or `auto/N`. The error says what was expected.
std::expected<ChosenShard, std::string> choose_shard(const std::string& option,
                                                     const Environment& environment);

/// "points.jsonl" of part 3 of 8 is "points.3-of-8.jsonl", for parts that nobody named.
std::string shard_file(const std::string& file, const scenario::Shard& shard);

}  // namespace shardsim::cli
