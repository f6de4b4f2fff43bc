// The `perturb:` section: deviations from the ideal cluster, each with its place and size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/cuda/jitter.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

struct JitterSpec {
  simcore::Fraction compute{};
  simcore::Fraction gpu{};
  cuda::Distribution distribution = cuda::Distribution::normal;
  static void describe(simcore::Fields<JitterSpec>& fields);
  static void check(const JitterSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

struct PauseSpec {
  simcore::SimTime at;
  simcore::SimTime length;
  static void describe(simcore::Fields<PauseSpec>& fields);
};

/// One deviation: exactly one of compute_slowdown, jitter, pause, dies_at and bandwidth.
struct PerturbationSpec {
  std::optional<std::int64_t> rank;
  std::optional<double> compute_slowdown;
  std::optional<JitterSpec> jitter;
  std::int64_t seed = 0;
  std::optional<PauseSpec> pause;
  std::optional<simcore::SimTime> dies_at;
  std::optional<std::string> link;
  std::optional<simcore::Fraction> bandwidth;
  std::optional<simcore::SimTime> at;
  std::optional<simcore::SimTime> until;
  static void describe(simcore::Fields<PerturbationSpec>& fields);
  static void check(const PerturbationSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

}  // namespace shardsim::scenario
