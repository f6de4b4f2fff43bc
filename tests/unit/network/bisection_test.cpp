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

}  // namespace shardsim::network
