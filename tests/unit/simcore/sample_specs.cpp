#include "sample_specs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace sample {

void Nic::describe(simcore::Fields<Nic>& fields) {
  fields.required("name", &Nic::name, "Name of the NIC.");
  fields.optional("bandwidth", &Nic::bandwidth, "Nominal bandwidth.").above(simcore::BitRate{0});
}

void Cluster::describe(simcore::Fields<Cluster>& fields) {
  fields.required("topology", &Cluster::topology, "A name, or the path of a file.")
      .example("dgx-h100");
  fields.optional("nodes", &Cluster::nodes, "Number of nodes.").range(1, 1'000'000);
  fields.optional("gpus", &Cluster::gpus, "GPUs of a node.").range(1, 16);
  fields.optional("limit", &Cluster::limit, "Memory limit.").at_least(simcore::Bytes{1});
  fields.optional("nics", &Cluster::nics, "NICs of a node.").count(0, 8).since("0.2");
}

void Cluster::check(const Cluster& cluster, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics) {
  if (cluster.nodes * cluster.gpus > 1'000'000) {
    diagnostics.error(node.where_value("nodes"), "more than a million GPUs");
  }
}

void Spec::describe(simcore::Fields<Spec>& fields) {
  fields.optional("name", &Spec::name, "What to call it.");
  fields.required("cluster", &Spec::cluster, "The machines.");
  fields.optional("strategy", &Spec::strategy, "How the model is sharded | replicated.");
  fields.optional("compile", &Spec::compile, "Whether kernels are fused.");
  fields.optional("share", &Spec::share, "A share.").above(0).below(1);
  fields.optional("launch", &Spec::launch, "Cost of a launch.").above(simcore::SimTime{});
  fields.optional("peak", &Spec::peak, "Peak rate.");
  fields.optional("efficiency", &Spec::efficiency, "Efficiency.").at_most(simcore::Fraction{1});
  fields.optional("reshard", &Spec::reshard, "Whether to reshard, or after how many blocks.");
  fields.optional("sizes", &Spec::sizes, "Some sizes.").range(1, 100).not_empty();
  fields.optional("env", &Spec::env, "Environment variables.");
}

void Tree::describe(simcore::Fields<Tree>& fields) {
  fields.required("label", &Tree::label, "Label.");
  fields.optional("children", &Tree::children, "Subtrees.");
}

std::shared_ptr<const simcore::SourceText> source(std::string text) {
  return std::make_shared<simcore::SourceText>(simcore::SourceText{"test.yaml", std::move(text)});
}

std::string problems(const simcore::Diagnostics& diagnostics) {
  std::string text;
  for (const simcore::Diagnostic& problem : diagnostics.all()) {
    text += fmt::format("{}:{}: {}", problem.where.line, problem.where.column, problem.message);
    if (!problem.suggestion.empty()) text += " -> " + problem.suggestion;
    text += '\n';
  }
  return text;
}

std::string problems_of(std::string text) {
  simcore::Diagnostics diagnostics;
  const auto root = simcore::read_yaml(source(std::move(text)), diagnostics);
  if (root) simcore::read_config<Spec>(*root, diagnostics);
  return problems(diagnostics);
}

Spec read_spec(std::string text) {
  simcore::Diagnostics diagnostics;
  const auto root = simcore::read_yaml(source(std::move(text)), diagnostics);
  REQUIRE(root.has_value());
  const Spec spec = simcore::read_config<Spec>(*root, diagnostics);
  CHECK(problems(diagnostics) == "");
  return spec;
}

}  // namespace sample

namespace shardsim::simcore {

std::optional<sample::Reshard> Codec<sample::Reshard>::read(const ConfigNode& node,
                                                            ReadContext& context) {
  if (node.looks_like_bool()) return sample::Reshard{node.text() == "true", 0};
  if (!node.looks_like_integer()) {
    context.expected(node, "true, false or a depth");
    return std::nullopt;
  }
  const auto depth = read_value<std::int64_t>(node, context);
  if (!depth) return std::nullopt;
  return sample::Reshard{true, *depth};
}

std::string Codec<sample::Reshard>::print(const sample::Reshard& value) {
  return value.depth != 0 ? print_value(value.depth) : print_value(value.on);
}

TypeSchema Codec<sample::Reshard>::schema() {
  return choice_of({schema_of<bool>(), schema_of<std::int64_t>()});
}

}  // namespace shardsim::simcore
