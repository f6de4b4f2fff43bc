// The step of one rank as a picture needs it: every operation by stream, and why the compute stream
// was idle.
//
// Operations are told apart by what they are for (`kinds`), and each kind belongs to one of four
// classes: compute, copy (what exists because of sharding), communication, and optimizer. A gap is
// a stretch in which the compute stream was idle, under what ended last (as in the critical path):
// the part of a collective that falls into such a stretch is exposed, the rest of it is hidden.
// Beyond `most` operations short neighbours are joined, those of one kind first, and the data say
// so.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "models/scenario/step_log.hpp"

namespace shardsim::report {

/// {rank, step_ns, kinds: [{name, class}], names, streams: [{name, start_ns, end_ns, moves_ns,
/// name_index, kind, count}], gaps: {start_ns, end_ns, stream, why}, operations, drawn,
/// joined_below_ns}. The arrays of a stream are columns, by start; `name_index` and `kind` are
/// indices; `moves_ns` is when a collective's data began to move, else `start_ns`; `count` > 1
/// stands for joined operations. `why` is "communication", "peers", "copy" or "cpu"; `stream` where
/// the cause ran, -1 for the CPU. Times count from the step's begin.
nlohmann::ordered_json stream_timeline(const scenario::StepLog& log, std::size_t most = 20'000);

}  // namespace shardsim::report
