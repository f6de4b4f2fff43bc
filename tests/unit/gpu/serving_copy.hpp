// The copy of new keys and values into a serving framework's paged cache, which published prefill
// times include: at equal queries they grow with the number of key heads, by what reading and
// writing the keys takes.
//
// sglang's copy runs as any stream kernel. vLLM's takes one thread block for each token, which
// reaches about 65 % of the bandwidth, and its layer 8 us besides: both fitted to the prefill times
// of https://github.com/ai-dynamo/aiconfigurator (Apache-2.0) at 095f58a51c4c on H100, L40S and
// B200.
#pragma once

#include "models/gpu/kernel_work.hpp"

namespace shardsim::gpu {

/// Keys and values, read and written once.
inline simcore::Bytes serving_copy_bytes(const AttentionWork& work) {
  const std::int64_t elements = work.batch * work.key_length * work.kv_heads * work.head_size;
  return simcore::Bytes{4 * elements * bytes_per_element(work.type)};
}

inline double vllm_copy_seconds(simcore::Bytes moved, simcore::BitRate bandwidth) {
  return static_cast<double>(moved.count) / (0.65 * bandwidth.bytes_per_second) + 8e-6;
}

}  // namespace shardsim::gpu
