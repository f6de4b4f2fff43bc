#include "models/scenario/job_spec.hpp"

#include "models/training/keys_without_effect.hpp"

namespace shardsim::scenario {

using simcore::Fields;

void JobSpec::describe(Fields<JobSpec>& fields) {
  fields.required("name", &JobSpec::name, "What people call it.");
  fields
      .required("nodes", &JobSpec::nodes,
                "Its nodes; its ranks are their GPUs in this order. A node belongs to one job.")
      .not_empty()
      .example("[4, 5, 6, 7]");
  fields.required("workload", &JobSpec::workload, "What it trains, and on what batch.");
  fields.optional("training", &JobSpec::training, "How that is sharded, reduced and updated.");
  fields.optional("cpu", &JobSpec::cpu, "What the CPU thread of a rank costs.");
}

void JobSpec::check(const JobSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics) {
  if (spec.name.empty()) {
    diagnostics.error(node.where_value("name"), "expected a name, found nothing");
  }
  training::warn_of_keys_without_effect(spec.workload, spec.training, node, diagnostics);
}

void BackgroundSpec::describe(Fields<BackgroundSpec>& fields) {
  fields.optional("name", &BackgroundSpec::name, "What people call it.");
  fields
      .optional("nodes", &BackgroundSpec::nodes,
                "Nodes whose GPUs take part, those of jobs or others; all if left out.")
      .example("[0, 1, 2, 3]");
  fields.optional("pattern", &BackgroundSpec::pattern,
                  "Every GPU to every other, or each to the next.");
  fields
      .required("bytes", &BackgroundSpec::bytes,
                "What each GPU sends in one exchange, to all its peers together.")
      .at_least(simcore::Bytes{1});
  fields.optional("gap", &BackgroundSpec::gap, "Time between the end of an exchange and the next.")
      .at_least(simcore::SimTime{});
}

}  // namespace shardsim::scenario
