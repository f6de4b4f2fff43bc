// What the columns of published nccl-tests tables say.
#include "models/scenario/validation/collective_mapping.hpp"

#include <doctest/doctest.h>

namespace shardsim::scenario {

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

TEST_CASE("a refusal is the table's reason, and a machine without a rule is refused") {
  CollectiveRules rules;
  rules.rules.push_back({{{"gpu", {"X*"}}}, "not simulated", {}});
  CHECK(map_table({{"gpu", "X1"}}, rules).error() == "not simulated");
  CHECK(map_table({{"gpu", "Y1"}}, rules).error().find("no rule for gpu") == 0);
}

}  // namespace shardsim::scenario
