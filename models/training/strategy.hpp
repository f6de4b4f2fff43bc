// A training run as a program: the workload's compute, interleaved with what the strategy does.
#pragma once

#include "models/cuda/program.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

/// Records `steps` steps of `gradient_accumulation` micro-batches each (both >= 1) for a rank in
/// groups of the given sizes. Steps differ: the first allocates optimizer state and, under DDP, has
/// one bucket; FSDP1's limiter carries its queue over.
///
/// Communicators, by role: "shard", the `groups.shard` ranks that share one copy of the model's
/// state; "reduce_scatter", the same; "repl", the `groups.replicas` ranks that hold the same shard;
/// "world", all ranks; "reshard", the `reshard_after_forward` consecutive ranks of a shard group
/// that keep a unit between its forward and backward. A strategy lists those that it uses.
///
/// `spec` has passed TrainingSpec::check, `groups` come from group_sizes.
cuda::Program record_program(const TrainingSpec& spec, Workload& workload, const GroupSizes& groups,
                             int gradient_accumulation, int steps);

}  // namespace shardsim::training
