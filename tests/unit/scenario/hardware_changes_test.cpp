#include "models/scenario/hardware_changes.hpp"

#include <doctest/doctest.h>

#include "models/scenario/accuracy/what_if.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim::scenario {
namespace {

network::TopologySpec topology() {
  network::TopologySpec spec;
  const network::CableSpec cable{{10e9}, {1}, {}};
  spec.node.nvlink.emplace().link = cable;
  spec.node.pcie.emplace().link = cable;
  spec.node.pcie->nic_link = cable;
  spec.node.nics.emplace().link = cable;
  return spec;
}

TEST_CASE("the network is NICs and PCIe; NVLink is apart") {
  HardwareChanges changes;
  changes.network_bandwidth = 2;
  network::TopologySpec spec = topology();
  apply(changes, spec);
  CHECK(spec.node.nics->link.bandwidth.bytes_per_second == 20e9);
  CHECK(spec.node.pcie->link.bandwidth.bytes_per_second == 20e9);
  CHECK(spec.node.pcie->nic_link->bandwidth.bytes_per_second == 20e9);
  CHECK_FALSE(spec.node.pcie->gpu_link);
  CHECK(spec.node.nvlink->link.bandwidth.bytes_per_second == 10e9);
  changes = {};
  changes.nvlink_bandwidth = 3;
  apply(changes, spec);
  CHECK(spec.node.nvlink->link.bandwidth.bytes_per_second == 30e9);
  CHECK(spec.node.nics->link.bandwidth.bytes_per_second == 20e9);
}

TEST_CASE("a GPU's peaks and memory are multiplied; what it lacks it goes on lacking") {
  gpu::GpuSpec gpu;
  gpu.peak.fp32 = {1e12};
  gpu.peak.bf16 = simcore::FlopRate{4e12};
  gpu.memory.bandwidth = {1e12};
  HardwareChanges changes;
  changes.arithmetic_rate = 2;
  changes.memory_bandwidth = 3;
  apply(changes, gpu);
  CHECK(gpu.peak.bf16->flops_per_second == 8e12);
  CHECK(gpu.peak.fp32.flops_per_second == 2e12);
  CHECK_FALSE(gpu.peak.fp8);
  CHECK(gpu.memory.bandwidth.bytes_per_second == 3e12);
}

TEST_CASE("what training leaves of the rate is multiplied, up to the whole") {
  gpu::GpuSpec gpu;
  gpu.gemm.bf16.emplace().training_throttle = simcore::Fraction{0.2};
  gpu.gemm.fp8.emplace();
  HardwareChanges changes;
  changes.training_rate = 1.1;
  apply(changes, gpu);
  CHECK(gpu.gemm.bf16->training_throttle->value == doctest::Approx(0.12));
  CHECK_FALSE(gpu.gemm.fp8->training_throttle);
  changes.training_rate = 2;
  apply(changes, gpu);
  CHECK(gpu.gemm.bf16->training_throttle->value == doctest::Approx(0));
  changes.as_in_benchmarks = true;
  apply(changes, gpu);
  CHECK_FALSE(gpu.gemm.bf16->training_throttle);
}

TEST_CASE("free launches leave the CPU no cost at all") {
  training::CpuSpec cpu;
  apply(HardwareChanges{}, cpu);
  CHECK(cpu.hook > simcore::SimTime{});
  HardwareChanges changes;
  changes.free_launches = true;
  apply(changes, cpu);
  for (const simcore::SimTime cost :
       {cpu.launch_or_default(), cpu.forward_op, cpu.backward_op, cpu.hook, cpu.module_hook,
        cpu.collective, cpu.optimizer_step, cpu.optimizer_tensor, cpu.dtensor_foreach,
        cpu.dtensor_fused, cpu.launch_latency}) {
    CHECK(cost == simcore::SimTime{});
  }
}

TEST_CASE("what if: twice the arithmetic helps a large model, free launches a small one") {
  const auto answers = [](const char* model, const std::string& size) {
    const std::filesystem::path root = SHARDSIM_SOURCE_DIR;
    simcore::Diagnostics diagnostics;
    auto loaded = load_scenario(root / "scenarios/fsdp1-mpt-7b-1xdgx-a100.yaml",
                                {std::string("workload.model=") + model, size}, diagnostics);
    REQUIRE_MESSAGE(loaded, simcore::to_text(diagnostics));
    const ExperimentOptions options{{root / "topologies", root / "scenarios"}, false, {}};
    const auto experiment = build_experiment(std::move(*loaded), options, diagnostics);
    REQUIRE_MESSAGE(experiment, simcore::to_text(diagnostics));
    Simulation simulation(*experiment);
    while (simulation.advance(1 << 20)) {
    }
    const auto output = simulation.finish();
    REQUIRE(output);
    std::vector<double> shares;
    for (const WhatIf& one : answer_what_if(*experiment, options)) {
      REQUIRE(one.step);
      shares.push_back(one.step->seconds() / output->result.step.time.seconds());
    }
    return shares;
  };
  const std::vector<double> large = answers("mpt-7b", "workload.micro_batch_size=4");
  const std::vector<double> small = answers("mpt-125m", "workload.sequence_length=128");
  REQUIRE(large.size() == what_if_questions().size());
  CHECK(large[0] == doctest::Approx(1));  // one node: nothing crosses the network
  CHECK(large[3] < 0.75);
  CHECK(large[4] > 0.98);
  CHECK(small[4] < 0.8);
  CHECK(small[3] > 0.8);
}

}  // namespace
}  // namespace shardsim::scenario
