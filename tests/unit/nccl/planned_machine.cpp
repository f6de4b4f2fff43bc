#include "tests/unit/nccl/planned_machine.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/nccl/topology_xml.hpp"
#include "tests/unit/nccl/connect_cases.hpp"

namespace shardsim::nccl {

std::shared_ptr<const simcore::SourceText> source_of(std::string name, std::string text) {
  auto source = std::make_shared<simcore::SourceText>();
  source->name = std::move(name);
  source->text = std::move(text);
  return source;
}

Machine shipped_machine(const std::string& name) {
  simcore::Diagnostics diagnostics;
  auto machine = read_topology_xml(source_of(name + ".xml", machine_xml(name)), diagnostics);
  REQUIRE_MESSAGE(machine.has_value(), simcore::to_text(diagnostics));
  CHECK(diagnostics.all().empty());
  return std::move(*machine);
}

PlannedMachine surveyed(const Machine& machine, NcclVersion version,
                        const PlanningOptions& options) {
  PlannedMachine made;
  made.system = std::make_unique<System>(build_system(machine, version));
  made.land = std::make_unique<Landscape>(survey(*made.system, options));
  return made;
}

PlannedMachine planned(const Machine& machine, NcclVersion version, const PlanningOptions& options,
                       const GraphWishes& wishes, const GivenGraphs& given) {
  PlannedMachine made = surveyed(machine, version, options);
  made.graphs = search_graphs(*made.land, wishes, given);
  return made;
}

PlanningOptions on_several_nodes() {
  PlanningOptions options;
  options.several_nodes = true;
  return options;
}

bool same_channels(const ChannelGraph& ours, const ChannelGraph& theirs) {
  if (ours.channels.size() != theirs.channels.size()) return false;
  for (std::size_t c = 0; c < ours.channels.size(); ++c) {
    const GraphChannel& own = ours.channels[c];
    const GraphChannel& known = theirs.channels[c];
    if (own.ranks != known.ranks || own.net_in != known.net_in || own.net_out != known.net_out) {
      return false;
    }
  }
  return true;
}

std::string summary_row(const ChannelGraph& graph) {
  // "%g", as the data was printed.
  return fmt::format("{},{},{},{:g},{:g},{:g},{},{},{:d}", static_cast<int>(graph.pattern),
                     graph.cross_nic, graph.channel_count(), graph.intra_gbytes_per_second,
                     graph.inter_gbytes_per_second, graph.latency_us,
                     path_type_name(graph.type_intra), path_type_name(graph.type_inter),
                     graph.same_channels);
}

}  // namespace shardsim::nccl
