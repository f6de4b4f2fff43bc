// Time of a fused (Flash-style) attention kernel on one GPU.
//
// Models: blocks of 128 query rows, one SM each, whose work grows with the keys that the mask
// leaves; a fixed cost of a block expressed in keys; causal blocks issued longest first, full
// ones in waves; a floor from memory traffic.
// Assumes: efficiencies are sustained ones unless constants have a throttle of their own (most
// were fitted to kernels of up to several milliseconds, where such a term does not improve the
// fit; on a GPU held far below its clocks by power it does); grouped-query attention changes
// bytes, not arithmetic; the backward pass divides into blocks as the forward pass does; two
// parameters describe an implementation at one head size.
// Leaves out: sliding windows, deterministic backward (12 % slower at the median of 45 published
// pairs on GB200), fp8 attention, split-KV decoding. Serving also copies the new keys and values
// into a paged cache, which published prefill times include: that is another kernel, of stream
// kind.
#pragma once

#include "models/gpu/gemm_model.hpp"
#include "models/gpu/gpu_spec.hpp"
#include "models/gpu/kernel_work.hpp"
#include "models/gpu/power_state.hpp"

namespace shardsim::gpu {

/// Seconds.
struct AttentionTime {
  double total = 0;
  double arithmetic = 0;
  double memory = 0;
  double overhead = 0;
};

/// Time with given constants. `share.bandwidth` is the rate that the kernel reaches, not the peak.
/// Without queries, heads or batch no kernel is launched and the time is zero.
AttentionTime attention_time(const AttentionWork& work, const AttentionConstants& constants,
                             simcore::SimTime fixed_time, const GpuShare& share,
                             PowerState power = PowerState::steady());

/// Bytes that the kernel moves at least: inputs, outputs and the softmax statistic once, for the
/// backward pass also the fp32 accumulation of the query gradient.
double attention_bytes(const AttentionWork& work);

/// The constants that serve `work` best. In this order of importance: the implementation asked for
/// (else any; for FlashAttention 1 its successor, at half the speed), the pass (else one measured
/// over both, else the other), the nearest head size (the larger of two equally near); the first
/// listed wins a tie. A specification lists at least one.
const AttentionConstants& choose_constants(const AttentionTable& table, const AttentionWork& work);

}  // namespace shardsim::gpu
