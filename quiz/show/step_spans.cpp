#include "quiz/show/step_spans.hpp"

#include <algorithm>

namespace shardsim::quiz {

using simcore::SimTime;

Spans united(Spans spans) {
  std::ranges::sort(spans, {}, &Span::from);
  Spans made;
  for (const Span& span : spans) {
    if (span.to <= span.from) continue;
    if (!made.empty() && span.from <= made.back().to) {
      made.back().to = std::max(made.back().to, span.to);
    } else {
      made.push_back(span);
    }
  }
  return made;
}

Spans without(const Spans& spans, const Spans& others) {
  Spans made;
  auto other = others.begin();
  for (const Span& span : spans) {
    SimTime at = span.from;
    while (other != others.end() && other->to <= at) ++other;
    for (auto next = other; next != others.end() && next->from < span.to; ++next) {
      if (next->from > at) made.push_back({at, next->from});
      at = std::max(at, next->to);
    }
    if (at < span.to) made.push_back({at, span.to});
  }
  return made;
}

StepSpans spans_of(const scenario::StepLog& log) {
  StepSpans made;
  made.step = log.end - log.begin;
  for (std::uint32_t op = log.first_op; op <= log.last_op; ++op) {
    if (!log.ran(op)) continue;
    const Span span{log.record(op).start - log.begin, log.record(op).end - log.begin};
    const bool moves = log.program->ops[op].code == cuda::OpCode::collective;
    (moves ? made.communicating : made.computing).push_back(span);
  }
  made.computing = united(std::move(made.computing));
  made.communicating = united(std::move(made.communicating));
  made.exposed = without(made.communicating, made.computing);
  return made;
}

std::vector<double> coverage(const Spans& spans, SimTime step, int columns) {
  std::vector<double> shares(static_cast<std::size_t>(columns), 0.0);
  const double width = step.seconds() / columns;
  if (width <= 0) return shares;
  for (const Span& span : spans) {
    const double from = span.from.seconds() / width;
    const double to = std::min(span.to.seconds() / width, static_cast<double>(columns));
    for (auto column = static_cast<std::size_t>(from); column < shares.size(); ++column) {
      const auto left = static_cast<double>(column);
      if (left >= to) break;
      shares[column] += std::min(to, left + 1) - std::max(from, left);
    }
  }
  return shares;
}

}  // namespace shardsim::quiz
