// A GPU with round numbers, so that times can be computed in the head: 100 SMs of 1 TFLOP/s each,
// 1 TB/s, and no second-order effect at all.
#pragma once

#include "models/gpu/gpu_spec.hpp"

namespace shardsim::gpu {

inline GemmConstants ideal_gemm() {
  GemmConstants constants;
  constants.basis = {Basis::Kind::assumed, {}};
  constants.expected_error = {0.01};
  constants.efficiency = {1};
  constants.throttle = {0};
  constants.tile_penalty = 0;
  constants.prologue_depth = 0;
  constants.memory_efficiency = {1};
  constants.fixed_time = {};
  constants.knee_exponent = 100;
  constants.split_cost = simcore::SimTime::microseconds(1'000'000);  // never worth it
  return constants;
}

inline AttentionConstants ideal_attention(AttentionImplementation implementation,
                                          AttentionPass pass, std::int64_t head_size) {
  AttentionConstants constants;
  constants.implementation = implementation;
  constants.pass = pass;
  constants.head_size = head_size;
  constants.efficiency = {1};
  return constants;
}

inline GpuSpec round_gpu() {
  GpuSpec spec;
  spec.name = "Round";
  spec.architecture = "Round";
  spec.sms = 100;
  spec.power_limit = {100};
  spec.memory = {simcore::Bytes{1'000'000'000}, simcore::BitRate{1e12}, simcore::Bytes{1'000'000}};
  spec.peak.fp32 = {10e12};
  spec.peak.bf16 = simcore::FlopRate{100e12};
  spec.peak.fp8 = simcore::FlopRate{200e12};
  spec.gemm.bf16 = ideal_gemm();
  spec.attention.kernels = {
      ideal_attention(AttentionImplementation::flash_attention_2, AttentionPass::both, 128)};
  MemoryBoundTable& table = spec.memory_bound;
  table.stream = {0.8};
  table.norm_forward = {0.7};
  table.norm_backward = {0.35};
  table.softmax = {0.75};
  table.rotary = {0.74};
  table.activation_forward = {0.73};
  table.activation_backward = {0.72};
  table.cross_entropy = {0.6};
  table.embedding_forward = {0.3};
  table.embedding_backward = {0.2};
  table.optimizer = {0.5};
  return spec;
}

}  // namespace shardsim::gpu
