// Bisection bandwidth of small clusters, by hand.
#include "models/network/bisection.hpp"

#include <doctest/doctest.h>

#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "tests/unit/network/topology_fixture.hpp"

namespace shardsim::network {

namespace {

double gbytes(const char* topology, std::int64_t nodes, std::optional<std::int64_t> gpus = {}) {
  simcore::Diagnostics diagnostics;
  const auto loaded = load_topology(topology, testing::shipped(), diagnostics);
  REQUIRE_MESSAGE(loaded.has_value(), simcore::to_text(diagnostics));
  const auto graph = build_graph(loaded->spec, {nodes, gpus, {}, {}}, diagnostics);
  REQUIRE_MESSAGE(graph.has_value(), simcore::to_text(diagnostics));
  return bisection_bandwidth(*graph).bytes_per_second * 1e-9;
}

}  // namespace

TEST_CASE("one GPU has no other half") { CHECK(gbytes("dgx-h100", 1, 1) == 0); }

TEST_CASE("inside a node it is what half of the GPUs send over NVLink, and PCIe besides") {
  constexpr double nvlink = 450 * 0.85;
  constexpr double pcie = 48;
  CHECK(gbytes("dgx-h100", 1, 2) == doctest::Approx(nvlink + pcie));
  // Of three, the smaller half is one GPU.
  CHECK(gbytes("dgx-h100", 1, 3) == doctest::Approx(nvlink + pcie));
  CHECK(gbytes("dgx-h100", 1) >= 4 * nvlink);
  CHECK(gbytes("dgx-h100", 1) <= 4 * (nvlink + pcie));
}

TEST_CASE("between nodes it is what half of the nodes' NICs carry") {
  CHECK(gbytes("dgx-h100", 2) == doctest::Approx(8 * 50 * 0.96));
  CHECK(gbytes("dgx-h100", 8) == doctest::Approx(4 * 8 * 50 * 0.96));
}

TEST_CASE("rates whose sum in MB/s is beyond the integers are still told") {
  simcore::Diagnostics diagnostics;
  auto loaded = load_topology("dgx-h100", testing::shipped(), diagnostics);
  REQUIRE(loaded.has_value());
  loaded->spec.node.nvlink->link.bandwidth = simcore::BitRate{9e24};
  const auto graph = build_graph(loaded->spec, {1, 2, {}, {}}, diagnostics);
  REQUIRE_MESSAGE(graph.has_value(), simcore::to_text(diagnostics));
  const double links = static_cast<double>(loaded->spec.node.nvlink->links_per_gpu);
  CHECK(bisection_bandwidth(*graph).bytes_per_second ==
        doctest::Approx(links * loaded->spec.node.nvlink->link.usable().bytes_per_second));
}

}  // namespace shardsim::network
