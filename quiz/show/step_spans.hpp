// When the GPU computes, communicates, and waits: stretches of a step.
#pragma once

#include <vector>

#include "models/scenario/step_log.hpp"

namespace shardsim::quiz {

/// A stretch of the step, from its begin.
struct Span {
  simcore::SimTime from;
  simcore::SimTime to;
  bool operator==(const Span&) const = default;
};
using Spans = std::vector<Span>;

/// Sorted and disjoint: overlapping and adjoining stretches are one.
Spans united(Spans spans);
/// Parts of `spans` that lie in none of `others`; both united.
Spans without(const Spans& spans, const Spans& others);

struct StepSpans {
  simcore::SimTime step;
  Spans computing;      ///< a kernel runs on any stream
  Spans communicating;  ///< a collective runs
  Spans exposed;        ///< a collective runs and no kernel does
};

StepSpans spans_of(const scenario::StepLog& log);

/// Share of each of `columns` equal stretches of [0, step) that the spans cover.
std::vector<double> coverage(const Spans& spans, simcore::SimTime step, int columns);

}  // namespace shardsim::quiz
