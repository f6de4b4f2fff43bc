// NCCL's view of a machine: links, paths, and which NIC a GPU uses.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/nccl/environment.hpp"
#include "models/nccl/link_bandwidths.hpp"
#include "models/nccl/nic_choice.hpp"
#include "models/nccl/nic_filter.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

std::vector<int> nets_of_gpus(const PlannedMachine& made, int channel) {
  std::vector<int> nets;
  for (std::size_t gpu = 0; gpu < made.system->gpus.size(); ++gpu) {
    nets.push_back(local_net(*made.system, made.land->paths, made.land->options,
                             static_cast<int>(gpu), channel));
  }
  return nets;
}

}  // namespace

TEST_CASE("links carry what NCCL believes, by generation and version") {
  CHECK(nvlink_gbytes_per_second(70, {30, 7}) == 20.0F);
  CHECK(nvlink_gbytes_per_second(80, {30, 7}) == 20.0F);
  CHECK(nvlink_gbytes_per_second(86, {30, 7}) == 12.0F);
  CHECK(nvlink_gbytes_per_second(90, {19, 3}) == 20.0F);
  CHECK(nvlink_gbytes_per_second(90, {20, 3}) == 20.6F);
  CHECK(nvlink_gbytes_per_second(100, {25, 1}) == 40.0F);
  CHECK(nvlink_gbytes_per_second(100, {27, 3}) == 40.1F);
  CHECK(pcie_gbytes_per_second("16.0 GT/s PCIe", 16) == 24.0F);
  CHECK(pcie_gbytes_per_second("32.0 GT/s PCIe", 8) == 24.0F);
  CHECK(pcie_gbytes_per_second("8 GT/s", 16) == 12.0F);
  CHECK(pcie_gbytes_per_second("", 0) == 12.0F);
  CHECK(net_gbytes_per_second(400'000) == 50.0F);
  CHECK(net_gbytes_per_second(0) == 1.25F);
  CpuEntry cpu;
  cpu.architecture = "x86_64";
  cpu.vendor = "GenuineIntel";
  cpu.family = 6;
  cpu.model = 0x8f;
  CHECK(cpu_gbytes_per_second(cpu, {25, 1}) == 10.0F);
  CHECK(cpu_gbytes_per_second(cpu, {26, 2}) == 22.0F);
}

TEST_CASE("paths on a DGX H100: NVLink inside, one PCIe switch to the own NIC, PXN to the others") {
  const PlannedMachine made =
      surveyed(shipped_machine("dgx_h100_8x400g"), {30, 7}, on_several_nodes());
  CHECK(made.land->gpu_gpu(0, 5).type == PathType::nvl);
  CHECK(made.land->gpu_gpu(0, 5).hops() == 2);
  CHECK(made.land->gpu_gpu(0, 5).gbytes_per_second == doctest::Approx(370.8));
  CHECK(made.land->gpu_net(3, 3).type == PathType::pix);
  CHECK(made.land->gpu_net(3, 6).type == PathType::pxn);
  CHECK(made.land->gpu_net(3, 6).gbytes_per_second == 48.0F);
  CHECK(made.land->net_gpu(6, 3).type == PathType::sys);
  CHECK(made.land->max_gbytes_per_second == 48.0F);
  CHECK(nets_of_gpus(made, 0) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("without PXN a GPU reaches far NICs through the CPUs") {
  PlanningOptions options = on_several_nodes();
  options.pxn = false;
  const PlannedMachine made = surveyed(shipped_machine("dgx_h100_8x400g"), {30, 7}, options);
  CHECK(made.land->gpu_net(3, 2).type == PathType::phb);
  CHECK(made.land->gpu_net(3, 6).type == PathType::sys);
}

TEST_CASE("without GPUDirect even the own NIC is reached through the CPU") {
  PlanningOptions options = on_several_nodes();
  options.gdr_level = PathType::loc;
  const PlannedMachine made = surveyed(shipped_machine("dgx_h100_8x400g"), {30, 7}, options);
  CHECK(made.land->gpu_net(3, 3).type == PathType::phb);
  CHECK(made.land->net_gpu(3, 3).type == PathType::phb);
}

TEST_CASE("a mesh without a switch is crossed through one other GPU") {
  const Machine dgx1 = shipped_machine("dgx1_v100_4x100g");
  const PlannedMachine made = surveyed(dgx1, {30, 7}, {});
  std::map<PathType, int> pairs;
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      if (a != b) ++pairs[made.land->gpu_gpu(a, b).type];
    }
  }
  CHECK(pairs[PathType::nvl] == 8 * 4);
  // Through a third GPU is not peer-to-peer of the default level, but near enough.
  CHECK(pairs[PathType::nvb] == 8 * 3);
  PlanningOptions options;
  options.nvb = false;
  const PlannedMachine without = surveyed(dgx1, {30, 7}, options);
  int beyond = 0;
  for (int b = 1; b < 8; ++b) beyond += without.land->gpu_gpu(0, b).type >= PathType::phb ? 1 : 0;
  CHECK(beyond == 3);
}

TEST_CASE("a GPU beside a Grace CPU reaches its NIC by C2C, from 2.27 on") {
  const Machine machine = shipped_machine("gb200_1host");
  CHECK(surveyed(machine, {30, 7}, on_several_nodes()).land->gpu_net(0, 0).type == PathType::p2c);
  CHECK(surveyed(machine, {26, 2}, on_several_nodes()).land->gpu_net(0, 0).type == PathType::phb);
}

TEST_CASE("no GPU relays to a NIC of its own host for one of another host") {
  const PlannedMachine made = surveyed(shipped_machine("gb200_2host"), {30, 7}, on_several_nodes());
  const auto host_of = [&](int node) {
    return made.system->nodes[static_cast<std::size_t>(node)].host;
  };
  int apart = 0;
  for (std::size_t gpu = 0; gpu < made.system->gpus.size(); ++gpu) {
    for (std::size_t net = 0; net < made.system->nets.size(); ++net) {
      if (host_of(made.system->gpus[gpu].node) == host_of(made.system->nets[net].node)) continue;
      ++apart;
      CHECK(made.land->gpu_net(static_cast<int>(gpu), static_cast<int>(net)).type != PathType::pxn);
    }
  }
  CHECK(apart > 0);
}

TEST_CASE("GPUs that share NICs deal them out") {
  const PlannedMachine made =
      surveyed(shipped_machine("hgx_h100_4x400g"), {30, 7}, on_several_nodes());
  CHECK(nets_of_gpus(made, 0) == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  // Two GPUs and two NICs on one switch: each its own.
  const PlannedMachine a100 =
      surveyed(shipped_machine("dgx_a100_8x200g"), {30, 7}, on_several_nodes());
  CHECK(nets_of_gpus(a100, 0) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  PlanningOptions all = on_several_nodes();
  all.net_devices = NetDevicesPolicy::all;
  const PlannedMachine both = surveyed(shipped_machine("dgx_a100_8x200g"), {30, 7}, all);
  CHECK(nets_of_gpus(both, 1) == std::vector<int>{1, 0, 3, 2, 5, 4, 7, 6});
}

TEST_CASE("NICs are left out by name") {
  const auto nets_with = [](const char* list) {
    Machine machine = shipped_machine("dgx_h100_8x400g");  // mlx5_0 to mlx5_7, port 1
    static_cast<void>(keep_nics(machine, list));
    return build_system(machine, {30, 7}).nets.size();
  };
  CHECK(nets_with("") == 8);
  CHECK(nets_with("mlx5") == 8);
  CHECK(nets_with("=mlx5") == 0);
  CHECK(nets_with("mlx5_0,mlx5_3") == 2);
  CHECK(nets_with("^mlx5_3") == 7);
  CHECK(nets_with("^=mlx5_3:1") == 7);
  CHECK(nets_with("=mlx5_3:2") == 0);
}

TEST_CASE("a node that has lost a NIC sends that GPU's traffic by its neighbours") {
  Machine machine = shipped_machine("dgx_h100_8x400g");
  CHECK(keep_nics(machine, "^=mlx5_3"));
  const PlannedMachine made = planned(machine, {30, 7}, on_several_nodes());
  CHECK(made.land->gpu_net(3, 0).type == PathType::pxn);
  CHECK(made.graphs.ring.channel_count() *
            static_cast<double>(made.graphs.ring.inter_gbytes_per_second) <=
        7 * 48);
}

TEST_CASE("the planner listens to its variables") {
  simcore::Diagnostics diagnostics;
  const auto options_of = [&](const std::map<std::string, std::string>& variables) {
    const Environment environment = read_environment(variables, {30, 7}, {}, diagnostics);
    return planning_options(environment, true);
  };
  const PlanningOptions options = options_of({{"NCCL_CROSS_NIC", "1"},
                                              {"NCCL_P2P_LEVEL", "NVL"},
                                              {"NCCL_NET_GDR_LEVEL", "3"},
                                              {"NCCL_PXN_DISABLE", "1"},
                                              {"NCCL_NETDEVS_POLICY", "MAX:2"}});
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(options.several_nodes);
  CHECK(options.cross_nic == 1);
  CHECK(options.p2p_level == PathType::nvl);
  CHECK(options.gdr_level == PathType::phb);
  CHECK_FALSE(options.pxn);
  CHECK(options.net_devices == NetDevicesPolicy::at_most);
  CHECK(options.most_net_devices == 2);
  CHECK(options_of({{"NCCL_P2P_DISABLE", "1"}}).p2p_level == PathType::loc);
  CHECK(options_of({}).cross_nic == 2);
  CHECK(options_of({{"NCCL_NETDEVS_POLICY", "ALL"}}).net_devices == NetDevicesPolicy::all);
}

TEST_CASE("versions of NCCL are read as people write them") {
  CHECK(parse_nccl_version("2.18.3") == NcclVersion{18, 3});
  CHECK(parse_nccl_version("2.18.3-1") == NcclVersion{18, 3});
  CHECK(parse_nccl_version("2.27") == NcclVersion{27, 0});
  CHECK(to_text(NcclVersion{30, 7}) == "2.30.7");
  for (const char* bad : {"", "2", "3.1.2", "2.", "2.x", "2.18.", "2.18.3-", "2.18.3 ", "2.-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_nccl_version(bad).has_value());
  }
}

}  // namespace shardsim::nccl
