// Models, workloads and a replay of recorded programs for the transformer's tests.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/training/transformer_flops.hpp"
#include "models/training/transformer_workload.hpp"

namespace shardsim::training {

inline const std::filesystem::path models_folder =
    std::filesystem::path(SHARDSIM_SOURCE_DIR) / "scenarios" / "models";

/// A shipped model; fails the test if it does not load.
inline ModelSpec shipped_model(const std::string& name) {
  simcore::Diagnostics diagnostics;
  const ModelReference reference{.name = name, .inline_spec = {}, .where = {}};
  const auto spec = load_model(reference, {.library = models_folder, .relative = "."}, diagnostics);
  INFO(simcore::to_text(diagnostics));
  REQUIRE(spec.has_value());
  return *spec;
}

inline TransformerShape shipped_shape(const std::string& name, std::int64_t sequence_length) {
  return resolve(shipped_model(name), sequence_length);
}

/// A small Llama with grouped queries; every size differs from every other.
inline TransformerShape small_llama() {
  TransformerShape shape;
  shape.family = ModelFamily::llama;
  shape.layers = 3;
  shape.hidden = 256;
  shape.heads = 8;
  shape.kv_heads = 2;
  shape.head_size = 32;
  shape.ffn_hidden = 640;
  shape.vocabulary = 1000;
  return shape;
}

/// A small GPT: learned positions, biases, tied head, f = 4 h.
inline TransformerShape small_gpt() {
  TransformerShape shape;
  shape.family = ModelFamily::gpt;
  shape.layers = 2;
  shape.hidden = 128;
  shape.heads = shape.kv_heads = 4;
  shape.head_size = 32;
  shape.ffn_hidden = 512;
  shape.vocabulary = 700;
  shape.position_rows = 64;
  shape.norm = NormKind::layer_norm;
  shape.mlp = MlpKind::gelu;
  shape.positions = PositionKind::learned;
  shape.biases = shape.tied_embeddings = shape.fused_qkv = true;
  return shape;
}

inline WorkloadSpec sequences(std::int64_t length, std::int64_t micro_batch = 1) {
  WorkloadSpec spec;
  spec.sequence_length = length;
  spec.micro_batch_size = micro_batch;
  return spec;
}

/// What a program holds in memory as it is issued.
class Replay {
 public:
  explicit Replay(const cuda::Program& program) {
    for (const cuda::Op& op : program.ops) {
      if (op.code == cuda::OpCode::allocate) allocate(op.index, program.allocations[op.name]);
      if (op.code == cuda::OpCode::free) free(op.index);
    }
  }
  std::int64_t live(cuda::MemoryKind kind) const { return live_[static_cast<std::size_t>(kind)]; }
  std::int64_t live() const {
    std::int64_t total = 0;
    for (const std::int64_t bytes : live_) total += bytes;
    return total;
  }
  std::int64_t peak() const { return peak_; }
  std::int64_t peak(cuda::MemoryKind kind) const { return peaks_[static_cast<std::size_t>(kind)]; }
  std::size_t tensors() const { return tensors_.size(); }

 private:
  void allocate(cuda::TensorId tensor, const cuda::AllocationSpec& spec) {
    REQUIRE(!tensors_.contains(tensor));
    REQUIRE(spec.bytes.count > 0);
    tensors_.emplace(tensor, spec);
    const auto kind = static_cast<std::size_t>(spec.kind);
    live_[kind] += spec.bytes.count;
    peaks_[kind] = std::max(peaks_[kind], live_[kind]);
    peak_ = std::max(peak_, live());
  }
  void free(cuda::TensorId tensor) {
    REQUIRE(tensors_.contains(tensor));  // neither twice nor before it exists
    const cuda::AllocationSpec& spec = tensors_.at(tensor);
    live_[static_cast<std::size_t>(spec.kind)] -= spec.bytes.count;
    tensors_.erase(tensor);
  }

  std::map<cuda::TensorId, cuda::AllocationSpec> tensors_;
  std::array<std::int64_t, cuda::memory_kind_count> live_{};
  std::array<std::int64_t, cuda::memory_kind_count> peaks_{};
  std::int64_t peak_ = 0;
};

/// Bytes of activations held as the kernel called `name` is issued for the first time.
inline std::int64_t live_activations_at(const cuda::Program& program, std::string_view name) {
  cuda::Program until = program;
  const auto found = std::find_if(until.ops.begin(), until.ops.end(), [&](const cuda::Op& op) {
    return op.code == cuda::OpCode::kernel && program.names[op.name] == name;
  });
  REQUIRE(found != until.ops.end());
  until.ops.erase(found, until.ops.end());
  return Replay(until).live(cuda::MemoryKind::activations);
}

inline void free_gradients(cuda::ProgramRecorder& recorder, Workload& workload, int unit) {
  for (const Gradient& gradient : workload.take_gradients(unit)) recorder.free(gradient.tensor);
}

inline void record_forward(cuda::ProgramRecorder& recorder, Workload& workload) {
  workload.embedding_forward(recorder);
  for (int block = 0; block < workload.blocks(); ++block) workload.block_forward(recorder, block);
  workload.head_forward(recorder);
  workload.loss_forward(recorder);
}

/// Gradients are freed unit by unit, as a strategy does after reducing them.
inline void record_backward(cuda::ProgramRecorder& recorder, Workload& workload) {
  workload.loss_backward(recorder);
  workload.head_backward(recorder);
  for (int block = workload.blocks() - 1; block >= 0; --block) {
    workload.block_backward(recorder, block);
    free_gradients(recorder, workload, block);
  }
  workload.embedding_backward(recorder);
  workload.loss_metrics(recorder);
  free_gradients(recorder, workload, root_unit);
}

inline cuda::Program record_step(Workload& workload) {
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  record_backward(recorder, workload);
  return recorder.finish();
}

inline cuda::Program record_step(const TransformerShape& shape, const WorkloadSpec& spec,
                                 const TransformerSetting& setting = {}) {
  TransformerWorkload workload(shape, spec, setting);
  return record_step(workload);
}

/// Bytes that one block keeps between its forward and its backward: what a program of forward
/// passes holds, less the same with one block fewer.
inline std::int64_t saved_by_one_block(TransformerShape shape, const WorkloadSpec& spec) {
  const auto held = [&](std::int64_t layers) {
    shape.layers = layers;
    TransformerWorkload workload(shape, spec, {});
    cuda::ProgramRecorder recorder;
    workload.embedding_forward(recorder);
    for (int block = 0; block < workload.blocks(); ++block) workload.block_forward(recorder, block);
    return Replay(recorder.finish()).live(cuda::MemoryKind::activations);
  };
  return held(3) - held(2);
}

template <class Work>
double sum_of(const cuda::Program& program, double (*value)(const cuda::KernelSpec&, const Work&)) {
  double total = 0;
  for (const cuda::Op& op : program.ops) {
    if (op.code != cuda::OpCode::kernel) continue;
    const cuda::KernelSpec& kernel = program.kernels[op.index];
    if (const auto* work = std::get_if<Work>(&kernel.work)) total += value(kernel, *work);
  }
  return total;
}

inline double gemm_flops(const cuda::Program& program) {
  return sum_of<gpu::GemmWork>(
      program, [](const cuda::KernelSpec&, const gpu::GemmWork& work) { return gpu::flops(work); });
}

inline double attention_flops(const cuda::Program& program) {
  return sum_of<gpu::AttentionWork>(
      program,
      [](const cuda::KernelSpec&, const gpu::AttentionWork& work) { return gpu::flops(work); });
}

inline double streamed_bytes(const cuda::Program& program) {
  return sum_of<gpu::MemoryBoundWork>(
      program, [](const cuda::KernelSpec&, const gpu::MemoryBoundWork& work) {
        return static_cast<double>(work.bytes.count);
      });
}

/// The same of kernels whose names begin with `prefix`.
inline double streamed_bytes_of(const cuda::Program& program, std::string_view prefix) {
  cuda::Program part = program;
  std::erase_if(part.ops, [&](const cuda::Op& op) {
    return op.code != cuda::OpCode::kernel || !program.names[op.name].starts_with(prefix);
  });
  return streamed_bytes(part);
}

inline simcore::SimTime cpu_time(const cuda::Program& program) {
  simcore::SimTime total;
  for (const cuda::Op& op : program.ops) {
    if (op.code == cuda::OpCode::kernel) total += program.kernels[op.index].cpu_cost;
  }
  return total;
}

}  // namespace shardsim::training
