#include "models/scenario/perturbation_spec.hpp"

#include <utility>

#include <fmt/format.h>

namespace shardsim::scenario {

using simcore::Fields;
using simcore::SimTime;

namespace {
constexpr SimTime zero;
}  // namespace

void JitterSpec::describe(Fields<JitterSpec>& fields) {
  fields
      .optional("compute", &JitterSpec::compute,
                "Standard deviation of a kernel's time, as a share of it, drawn anew for each rank "
                "and kernel; the mean stays.")
      .range(simcore::Fraction{0}, simcore::Fraction{10});
  fields
      .optional("gpu", &JitterSpec::gpu,
                "Standard deviation of the speed of GPUs: a factor on all kernels' times, drawn "
                "once for each rank.")
      .range(simcore::Fraction{0}, simcore::Fraction{1});
  fields.optional("distribution", &JitterSpec::distribution,
                  "Of the factors on times, whose mean is 1.");
}

void JitterSpec::check(const JitterSpec& spec, const simcore::ConfigNode& node,
                       simcore::Diagnostics& diagnostics) {
  if (!node.has("compute") && !node.has("gpu")) {
    diagnostics.error(node.where(), "jitter of nothing; expected compute or gpu");
    return;
  }
  const double most = cuda::most_deviation(spec.distribution);
  for (const auto& [key, share] : {std::pair{"compute", spec.compute}, {"gpu", spec.gpu}}) {
    if (share.value <= most) continue;
    diagnostics.error(
        node.where_value(key),
        fmt::format("expected at most {:.0f} %: with more, factors of a {} distribution would be "
                    "below 0, or their mean not 1",
                    100 * most, simcore::print_value(spec.distribution)));
  }
}

void PauseSpec::describe(Fields<PauseSpec>& fields) {
  fields.required("at", &PauseSpec::at, "When it begins, counted from the start of the first step.")
      .at_least(zero);
  fields.required("length", &PauseSpec::length, "How long CPU thread and GPU stand still.")
      .at_least(zero);
}

void PerturbationSpec::describe(Fields<PerturbationSpec>& fields) {
  fields
      .optional("rank", &PerturbationSpec::rank,
                "The rank that deviates; jitter without it is that of all ranks.")
      .range(0, 1'000'000'000);
  fields
      .optional("compute_slowdown", &PerturbationSpec::compute_slowdown,
                "Factor on the time of every kernel of the rank; 1.3 is 30 % slower.")
      .range(0.01, 1000.0);
  fields.optional("jitter", &PerturbationSpec::jitter, "Random variation of kernel times.");
  fields
      .optional("seed", &PerturbationSpec::seed,
                "Of the jitter: other seeds give other draws, equal seeds equal ones.")
      .range(0, 1'000'000'000'000);
  fields.optional("pause", &PerturbationSpec::pause, "The rank stands still once.");
  fields
      .optional("dies_at", &PerturbationSpec::dies_at,
                "The rank stands still for ever, from this time of the run on.")
      .at_least(zero);
  fields
      .optional("link", &PerturbationSpec::link,
                "A device whose links all change, or a single link `FROM->TO`.")
      .example("\"node[2].nic[0]\"");
  fields
      .optional("bandwidth", &PerturbationSpec::bandwidth,
                "Bandwidth left on the link, as a share of what it has; at 0 % it has failed, and "
                "data go another way if there is one.")
      .range(simcore::Fraction{0}, simcore::Fraction{100});
  fields
      .optional(
          "at", &PerturbationSpec::at,
          "When the link changes, counted from the start of the first step; from the start if "
          "left out.")
      .at_least(zero);
  fields
      .optional("until", &PerturbationSpec::until, "When the link is as before; never if left out.")
      .at_least(zero);
}

void PerturbationSpec::check(const PerturbationSpec& spec, const simcore::ConfigNode& node,
                             simcore::Diagnostics& diagnostics) {
  const int effects = int{spec.compute_slowdown.has_value()} + int{spec.jitter.has_value()} +
                      int{spec.pause.has_value()} + int{spec.dies_at.has_value()} +
                      int{spec.bandwidth.has_value()};
  const bool of_link = spec.bandwidth.has_value();
  const bool of_rank = !of_link && (spec.rank || spec.jitter);
  if (effects != 1 || of_link != spec.link.has_value() || (of_link && spec.rank) ||
      (!of_link && !of_rank)) {
    diagnostics.error(node.where(),
                      "expected either 'rank' with 'compute_slowdown', 'pause' or 'dies_at', or "
                      "'jitter', or 'link' with 'bandwidth'");
    return;
  }
  if (node.has("seed") && !spec.jitter) {
    diagnostics.warning(node.where_key("seed"), "seed has no effect without jitter");
  }
  if (!of_link && (spec.at || spec.until)) {
    diagnostics.error(node.where(), "'at' and 'until' go with 'link'");
  }
  if (spec.until && *spec.until <= spec.at.value_or(zero)) {
    diagnostics.error(node.where_value("until"), "expected a time after 'at'");
  }
}

}  // namespace shardsim::scenario
