// Machines in NCCL's description as topologies of ours.
#include "models/nccl/topology_from_machine.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "models/network/topology_builder.hpp"
#include "simcore/text_file.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

TEST_CASE("every shipped NCCL topology file becomes a cluster that can be built") {
  const auto folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies" / "nccl";
  const auto names = simcore::file_stems(folder, ".xml");
  CHECK(names.size() > 10);
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto spec = topology_from_machine(shipped_machine(name));
    REQUIRE_MESSAGE(spec.has_value(), spec.error());
    simcore::Diagnostics diagnostics;
    const auto graph = network::build_graph(*spec, {1, std::nullopt, {}, {}}, diagnostics);
    CHECK_MESSAGE(graph.has_value(), simcore::to_text(diagnostics));
  }
}

TEST_CASE("GPUs joined in pairs have as many NVLinks as the fullest of them") {
  const auto spec = topology_from_machine(shipped_machine("dgx1_v100_4x100g"));
  REQUIRE(spec.has_value());
  REQUIRE(spec->node.nvlink.has_value());
  CHECK(spec->node.nvlink->layout == network::NvlinkLayout::pairs);
  CHECK(spec->node.nvlink->links_per_gpu == 6);
}

}  // namespace shardsim::nccl
