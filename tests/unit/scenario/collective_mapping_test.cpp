// What the columns of published nccl-tests tables say.
#include "models/scenario/validation/collective_mapping.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "simcore/config/fields.hpp"

namespace shardsim::scenario {

namespace {

const std::filesystem::path root = SHARDSIM_SOURCE_DIR;

std::filesystem::path shipped_topologies() { return root / "topologies"; }

CollectiveRules shipped_rules() {
  simcore::Diagnostics diagnostics;
  auto rules = simcore::read_config_file<CollectiveRules>(
      root / "validation" / "collective_rules.yaml", diagnostics);
  REQUIRE_MESSAGE(rules.has_value(), simcore::to_text(diagnostics));
  return std::move(*rules);
}

}  // namespace

TEST_CASE("the number and rate of NICs are read wherever they stand in the text") {
  CHECK(nics_in("8x200G IB HDR CX6") == std::pair<std::int64_t, std::int64_t>{8, 200});
  CHECK(nics_in("2 racks; 8x400G RoCE per 4-GPU tray") ==
        std::pair<std::int64_t, std::int64_t>{8, 400});
  CHECK_FALSE(nics_in("NVL72 NVLink"));
  CHECK_FALSE(nics_in(""));
}

TEST_CASE("variables are told from the text around them") {
  const auto found = variables_in("CUDA_VISIBLE_DEVICES=0,2 NCCL_CROSS_NIC=0 NCCL_ALGO=Ring (job)");
  CHECK(found ==
        std::map<std::string, std::string>{{"NCCL_ALGO", "Ring"}, {"NCCL_CROSS_NIC", "0"}});
  CHECK(variables_in("NCCL_ALGO").empty());
}

TEST_CASE("an unknown machine is derived from its parts") {
  const CollectiveRules rules = shipped_rules();
  const auto cluster = [&rules](TableFacts facts) {
    facts.insert({{"collective", "all_reduce"}, {"dtype", "float"}, {"nodes", "2"}});
    facts.try_emplace("gpus_per_node", "8");
    const auto made = map_table(facts, rules);
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error()));
    simcore::Diagnostics diagnostics;
    auto loaded = load_collective_cluster(made->cluster, {shipped_topologies(), {}}, diagnostics);
    REQUIRE_MESSAGE(loaded != nullptr, simcore::to_text(diagnostics));
    return loaded;
  };
  const auto nic_gbps = [](const CollectiveCluster& one) {
    return one.spec.node.nics->link.usable().bytes_per_second * 1e-9;
  };
  // NICs of 800 Gbit/s sit in slots that feed them.
  const auto b300 = cluster({{"gpu", "B300-SXM"}, {"inter_node", "8x800G IB XDR"}});
  CHECK(nic_gbps(*b300) == doctest::Approx(96));
  CHECK(b300->spec.node.pcie->link.usable().bytes_per_second * 1e-9 >= 96);
  // Adapters of another generation are grouped beside the same number of GPUs.
  const auto p5en = cluster({{"gpu", "H200-SXM (p5en.48xlarge)"}, {"inter_node", "16x200G EFA"}});
  CHECK(p5en->spec.node.nics->nics_per_device == 2);
  // Two ports of a card are one device; NVLink of the export variant has 8 links.
  const auto h800 = cluster({{"gpu", "H800-SXM"}, {"inter_node", "16x200G RoCE"}});
  CHECK(h800->spec.node.nics->nics_per_device == 2);
  CHECK(h800->spec.node.nvlink->links_per_gpu == 8);
  // Four of eight GPUs beside four NICs: each has its own.
  const auto half =
      cluster({{"gpu", "H100-SXM5"}, {"gpus_per_node", "4"}, {"inter_node", "4x400G IB"}});
  CHECK(half->spec.node.gpus == 4);
  CHECK(half->spec.node.pcie->switches == 4);
}

TEST_CASE("a refusal is the table's reason, and a machine without a rule is refused") {
  CollectiveRules rules;
  MappingRule rule;
  rule.when = {{"gpu", {"X*"}}};
  rule.refuse = "not simulated";
  rules.rules.push_back(rule);
  CHECK(map_table({{"gpu", "X1"}}, rules).error() == "not simulated");
  CHECK(map_table({{"gpu", "Y1"}}, rules).error().find("no rule for gpu") == 0);
}

TEST_CASE("a node with more NICs than any machine has is refused") {
  const TableFacts facts{
      {"collective", "all_reduce"}, {"dtype", "float"},   {"nodes", "2"},
      {"gpus_per_node", "8"},       {"gpu", "H100-SXM5"}, {"inter_node", "100000x400G IB"}};
  CHECK(map_table(facts, shipped_rules())
            .error()
            .find("inter_node '100000x400G IB': expected 1 to 128 NICs") == 0);
}

TEST_CASE("cells of a table that name no network and no variable say so") {
  TableFacts facts{{"collective", "all_reduce"},
                   {"dtype", "float"},
                   {"nodes", "2"},
                   {"gpus_per_node", "8"},
                   {"gpu", "H100-SXM5"}};
  for (const char* cell : {"8x-400G", "0x400G", "8x0G", "8x9223372036854775807G",
                           "99999999999999999999x400G", "8x99999999999999999999G"}) {
    CAPTURE(cell);
    facts["inter_node"] = cell;
    const auto made = map_table(facts, shipped_rules());
    REQUIRE_FALSE(made);
    CHECK(made.error().find("inter_node '" + std::string(cell) + "': expected 1 to 128") == 0);
  }
  facts["inter_node"] = "8x400G IB";
  for (const char* cell : {"nccl_algo=Tree", "CUDA_X=1 NCCL_=1", "NCCL_ALGO=Ring;Nccl_Proto=LL"}) {
    CAPTURE(cell);
    facts["env"] = cell;
    const auto made = map_table(facts, shipped_rules());
    REQUIRE_FALSE(made);
    CHECK(made.error().find("is none of NCCL's variables") != std::string::npos);
  }
  facts["env"] = "CUDA_VISIBLE_DEVICES=0,2 NCCL_ALGO=Ring (job)";
  CHECK(map_table(facts, shipped_rules()).has_value());
}

}  // namespace shardsim::scenario
