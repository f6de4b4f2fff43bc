// Keys of a scenario that are legal, but say nothing beside the others that were given.
//
// Which keys a strategy has at all is the matter of TrainingSpec::check; here are the rules between
// the sections `workload`, `training` and `cpu`. Times of an explicit workload that the strategy
// does not use are no such keys: one textbook case serves several strategies.
#pragma once

#include "models/training/training_spec.hpp"
#include "models/training/workload_spec.hpp"
#include "simcore/config/config_node.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::training {

/// Warns of every key that was given and changes nothing. `node` is the map that holds the three
/// sections.
void warn_of_keys_without_effect(const WorkloadSpec& workload, const TrainingSpec& training,
                                 const simcore::ConfigNode& node,
                                 simcore::Diagnostics& diagnostics);

}  // namespace shardsim::training
