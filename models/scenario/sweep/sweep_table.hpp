// Points as a table for people.
#pragma once

#include <span>
#include <string>

#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::scenario {

/// One line a point: its values, step time, speed, exposed communication, memory used at the peak
/// (as `run` has it: reserved by the allocator and outside it); cost where there are prices; the
/// reason where it failed. Ends with a newline; empty without rows.
std::string sweep_table(std::span<const SweepRow> rows);

/// A line that says for how many of these points no published run is comparable, as `run` says it
/// of one. Ends with a newline; empty where it is none of them.
std::string sweep_note(std::span<const SweepRow> rows);

}  // namespace shardsim::scenario
