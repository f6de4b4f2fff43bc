#include "models/training/transformer_workload.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "simcore/integer.hpp"

namespace shardsim::training {

using cuda::KernelCategory;
using cuda::MemoryKind;
using cuda::ProgramRecorder;
using cuda::TensorId;
using gpu::MemoryBoundKind;
using simcore::Bytes;
using simcore::divide_up;

namespace {

KernelContext make_context(const WorkloadSpec& spec, const CpuSpec& cpu) {
  KernelContext context;
  context.type = compute_type(spec.precision);
  context.linear_type = spec.precision == Precision::fp8 ? gpu::DataType::fp8 : context.type;
  context.batch = spec.micro_batch_size;
  context.sequence_length = spec.sequence_length.value_or(1);
  context.compiled = spec.compile;
  context.selective_keeps_attention = spec.selective_keeps_attention;
  context.cpu = cpu;
  return context;
}

std::vector<Bytes> gradient_bytes(const std::vector<ParameterShape>& parameters,
                                  std::int64_t element_bytes) {
  std::vector<Bytes> sizes;
  sizes.reserve(parameters.size());
  for (const ParameterShape& parameter : parameters) {
    sizes.push_back(Bytes{parameter.elements() * element_bytes});
  }
  return sizes;
}

/// Indices of the embedding's and the positions' table among the root's parameters.
constexpr std::array<std::size_t, 2> tables{0, 1};

}  // namespace

Bytes cublas_workspace_bytes(int compute_capability_major) {
  constexpr std::int64_t kib = 1024;
  if (compute_capability_major >= 9) return Bytes{kib * kib * 32};
  return Bytes{kib * (2 * 4096 + 8 * 16)};
}

double loss_bytes_per_logit(const WorkloadSpec& spec) {
  if (spec.loss_bytes_per_logit) return *spec.loss_bytes_per_logit;
  if (spec.compile) return spec.precision == Precision::fp32 ? 8 : 4;
  return 12;
}

TransformerWorkload::TransformerWorkload(const TransformerShape& shape, const WorkloadSpec& spec,
                                         const TransformerSetting& setting)
    : shape_(shape),
      setting_(setting),
      context_(make_context(spec, setting.cpu)),
      root_parameters_(training::root_parameters(shape)),
      block_parameters_(training::block_parameters(shape)),
      root_gradient_bytes_(gradient_bytes(root_parameters_, context_.element_bytes())),
      block_gradient_bytes_(gradient_bytes(block_parameters_, context_.element_bytes())),
      loss_metrics_(spec.loss_metrics),
      block_graph_(block_graph(shape_, context_, block_parameters_, spec.attention)),
      head_graph_(head_graph(shape_, context_, root_parameters_)),
      loss_graph_(loss_graph(shape_, context_, loss_bytes_per_logit(spec))) {
  const std::string prefix(module_names(shape.family).layers);
  block_tapes_.reserve(static_cast<std::size_t>(shape.layers));
  for (std::int64_t block = 0; block < shape.layers; ++block) {
    const bool checkpointed = (block + 1) % spec.checkpoint_every == 0;
    block_tapes_.emplace_back(block_graph_, block_gradient_bytes_,
                              prefix + "." + std::to_string(block) + ".",
                              checkpointed ? spec.activation_checkpointing : Checkpointing::none,
                              spec.recompute_early_stop);
  }
  head_tape_.emplace(head_graph_, root_gradient_bytes_, "", Checkpointing::none, true);
  loss_tape_.emplace(loss_graph_, root_gradient_bytes_, "", Checkpointing::none, true);
}

void TransformerWorkload::launch(ProgramRecorder& recorder, const Launch& entry) const {
  recorder.launch(ProgramRecorder::compute_stream, entry.name, entry.kernel);
}

/// Kept for good from the thread's first matrix product on.
void TransformerWorkload::reserve_workspace(ProgramRecorder& recorder, Pass pass) {
  bool& reserved =
      pass == Pass::forward ? forward_workspace_reserved_ : backward_workspace_reserved_;
  if (reserved || setting_.cublas_workspace.count == 0) return;
  recorder.allocate(setting_.cublas_workspace, ProgramRecorder::compute_stream, MemoryKind::other,
                    "cublas_workspace");
  reserved = true;
}

ModuleSink TransformerWorkload::modules_of(int unit) const {
  return [this, unit](ModulePoint point, std::span<const std::size_t> parameters) {
    at_module(point, unit, parameters);
  };
}

void TransformerWorkload::embedding_forward(ProgramRecorder& recorder) {
  assert(!stream_);
  at_module(ModulePoint::pre_forward, root_unit);  // the model, which holds all other modules
  const ModuleNames& names = module_names(shape_.family);
  const Bytes row = context_.activation(shape_.hidden);
  const bool learned = shape_.position_rows > 0;
  stream_ =
      recorder.allocate(row, ProgramRecorder::compute_stream, MemoryKind::activations, "residual");
  const auto gather = [&](std::string_view name, Bytes bytes) {
    launch(recorder,
           streaming(context_, Pass::forward, std::string(name), KernelCategory::embedding,
                     MemoryBoundKind::embedding_forward, bytes));
  };
  if (!learned || context_.compiled) {  // one kernel reads both tables and adds
    const std::span<const std::size_t> read =
        learned ? std::span<const std::size_t>(tables) : std::span(tables).first(1);
    at_module(ModulePoint::pre_forward, root_unit, read);
    gather(names.embedding, row * (learned ? 3 : 2));
    at_module(ModulePoint::post_forward, root_unit, read);
    return;
  }
  const TensorId positions =
      recorder.allocate(Bytes{context_.sequence_length * shape_.hidden * context_.element_bytes()},
                        ProgramRecorder::compute_stream, MemoryKind::activations, "positions");
  const TensorId tokens =
      recorder.allocate(row, ProgramRecorder::compute_stream, MemoryKind::activations, "embedding");
  const auto look_up = [&](std::size_t table, std::string_view name, Bytes bytes) {
    const std::span<const std::size_t> module = std::span(tables).subspan(table, 1);
    at_module(ModulePoint::pre_forward, root_unit, module);
    gather(name, bytes);
    at_module(ModulePoint::post_forward, root_unit, module);
  };
  look_up(0, names.embedding, row * 2);
  look_up(1, names.positions,
          Bytes{2 * context_.sequence_length * shape_.hidden * context_.element_bytes()});
  launch(recorder, streaming(context_, Pass::forward, "embedding.add", KernelCategory::elementwise,
                             MemoryBoundKind::stream, row * 3));
  recorder.free(tokens);
  recorder.free(positions);
}

void TransformerWorkload::block_forward(ProgramRecorder& recorder, int block) {
  reserve_workspace(recorder, Pass::forward);
  at_module(ModulePoint::pre_forward, block);
  stream_ =
      block_tapes_[static_cast<std::size_t>(block)].forward(recorder, *stream_, modules_of(block));
  at_module(ModulePoint::post_forward, block);
}

void TransformerWorkload::head_forward(ProgramRecorder& recorder) {
  reserve_workspace(recorder, Pass::forward);
  stream_ = head_tape_->forward(recorder, *stream_, modules_of(root_unit));
  at_module(ModulePoint::post_forward, root_unit);
}

void TransformerWorkload::loss_forward(ProgramRecorder& recorder) {
  recorder.free(loss_tape_->forward(recorder, *stream_));
  stream_.reset();
}

void TransformerWorkload::loss_backward(ProgramRecorder& recorder) {
  const TensorId seed =
      recorder.allocate(Bytes{4}, ProgramRecorder::compute_stream, MemoryKind::activations, "loss");
  stream_ = loss_tape_->backward(recorder, seed, {});
}

void TransformerWorkload::head_backward(ProgramRecorder& recorder) {
  reserve_workspace(recorder, Pass::backward);
  at_module(ModulePoint::pre_backward, root_unit);
  stream_ = head_tape_->backward(
      recorder, *stream_,
      [&](std::size_t parameter, TensorId gradient) {
        head_gradient(recorder, parameter, gradient);
      },
      modules_of(root_unit));
}

void TransformerWorkload::head_gradient(ProgramRecorder& recorder, std::size_t parameter,
                                        TensorId gradient) {
  if (shape_.tied_embeddings && parameter == 0) {
    tied_gradient_ = gradient;
    return;
  }
  gradient_ready(recorder, {root_unit, parameter, gradient});
}

void TransformerWorkload::block_backward(ProgramRecorder& recorder, int block) {
  reserve_workspace(recorder, Pass::backward);
  at_module(ModulePoint::pre_backward, block);
  stream_ = block_tapes_[static_cast<std::size_t>(block)].backward(
      recorder, *stream_,
      [&](std::size_t parameter, TensorId gradient) {
        gradient_ready(recorder, {block, parameter, gradient});
      },
      modules_of(block));
  at_module(ModulePoint::post_backward, block);
}

TensorId TransformerWorkload::allocate_root_gradient(ProgramRecorder& recorder,
                                                     std::size_t parameter) {
  return recorder.allocate(root_gradient_bytes_[parameter], ProgramRecorder::compute_stream,
                           MemoryKind::gradients, "gradient");
}

/// A table's gradient is dense: cleared, then every token's row is added (read, modify, write).
void TransformerWorkload::embedding_backward(ProgramRecorder& recorder) {
  const ModuleNames& names = module_names(shape_.family);
  const auto scatter = [&](std::string_view name, std::size_t parameter, Bytes rows) {
    const std::span<const std::size_t> module = std::span(tables).subspan(parameter, 1);
    at_module(ModulePoint::pre_backward, root_unit, module);
    const TensorId gradient = allocate_root_gradient(recorder, parameter);
    launch(recorder, streaming(context_, Pass::backward, std::string(name) + ".backward",
                               KernelCategory::embedding, MemoryBoundKind::embedding_backward,
                               root_gradient_bytes_[parameter] + rows * 3, 4));
    at_module(ModulePoint::post_backward, root_unit, module);
    return gradient;
  };
  const Bytes row = context_.activation(shape_.hidden);
  if (shape_.position_rows > 0) {  // summed over the sequences first
    gradient_ready(recorder, {root_unit, 1, scatter(names.positions, 1, row)});
  }
  const TensorId table = scatter(names.embedding, 0, row);
  recorder.free(*stream_);
  stream_.reset();
  if (!tied_gradient_) {
    gradient_ready(recorder, {root_unit, 0, table});
    return;
  }
  launch(recorder, streaming(context_, Pass::backward, std::string(names.embedding) + ".accumulate",
                             KernelCategory::elementwise, MemoryBoundKind::stream,
                             root_gradient_bytes_[0] * 3));
  recorder.free(table);
  gradient_ready(recorder, {root_unit, 0, *std::exchange(tied_gradient_, std::nullopt)});
}

/// PyTorch's own cross-entropy under autocast: the logits cast up, their log-softmax beside them.
/// That the logits live through backward for it is left out.
void TransformerWorkload::loss_metrics(ProgramRecorder& recorder) {
  if (loss_metrics_ == 0) return;
  const Bytes logits = context_.activation(shape_.vocabulary);
  const Bytes wide{context_.tokens() * shape_.vocabulary * 4};
  const bool casts = wide > logits;
  const auto hold = [&recorder](Bytes bytes, const char* name) {
    return recorder.allocate(bytes, ProgramRecorder::compute_stream, MemoryKind::activations, name);
  };
  const TensorId kept = hold(logits, "logits");
  const auto pass_over = [&](const char* name, MemoryBoundKind kind, Bytes traffic) {
    launch(recorder, streaming(context_, Pass::forward, name, KernelCategory::loss, kind, traffic));
  };
  for (std::int64_t metric = 0; metric < loss_metrics_; ++metric) {
    std::vector<TensorId> copies;
    if (casts) {
      copies.push_back(hold(wide, "metric.float"));
      pass_over("metric.float", MemoryBoundKind::stream, logits + wide);
    }
    copies.push_back(hold(wide, "metric.log_softmax"));
    pass_over("metric.log_softmax", MemoryBoundKind::softmax, wide * 2);
    for (const TensorId copy : copies) recorder.free(copy);
  }
  recorder.free(kept);
}

void TransformerWorkload::optimizer(ProgramRecorder& recorder, std::int64_t parameters,
                                    std::int64_t tensors) {
  recorder.launch(ProgramRecorder::compute_stream, "optimizer",
                  optimizer_kernel(setting_.optimizer, setting_.cpu, parameters, tensors));
}

/// One multi-tensor kernel takes up to 64 pairs of tensors (PyTorch's multi_tensor_apply).
/// The root's parts bear the names of their large modules.
std::string TransformerWorkload::unit_operation(std::string_view operation, int unit) const {
  const ModuleNames& names = module_names(shape_.family);
  std::string module;
  switch (unit) {
    case root_unit:
      module = "root";
      break;
    case embedding_unit:
      module = names.embedding;
      break;
    case head_unit:
      module = names.head;
      break;
    default:
      module = std::string(names.layers) + "." + std::to_string(unit);
  }
  return module + "." + std::string(operation);
}

cuda::KernelSpec TransformerWorkload::copy(CopyRole, int, Bytes bytes, std::int64_t tensors) const {
  const std::int64_t launches = std::max<std::int64_t>(1, divide_up(tensors, 64));
  return {.category = KernelCategory::copy,
          .work = gpu::MemoryBoundWork{.kind = MemoryBoundKind::stream,
                                       .bytes = bytes,
                                       .launches = static_cast<int>(launches)},
          .cpu_cost = setting_.cpu.launch_or_default() * launches};
}

/// Copy engines do not compete with kernels; that they share PCIe with the network is left out.
cuda::KernelSpec TransformerWorkload::host_copy(Bytes bytes, std::int64_t tensors) const {
  const double seconds = static_cast<double>(bytes.count) / setting_.host_link.bytes_per_second;
  return {.category = KernelCategory::copy,
          .work = gpu::FixedWork{simcore::SimTime::from_seconds(seconds)},
          .cpu_cost = setting_.cpu.launch_or_default() * tensors};
}

simcore::SimTime TransformerWorkload::host_optimizer(std::int64_t parameters,
                                                     std::int64_t tensors) const {
  const double millions = static_cast<double>(parameters * setting_.ranks_per_node) * 1e-6;
  return setting_.cpu.optimizer_step + setting_.cpu.optimizer_tensor * tensors +
         simcore::SimTime::from_seconds(setting_.cpu.host_optimizer.seconds() * millions);
}

cuda::CollectiveSpec TransformerWorkload::collective(CollectiveRole, int,
                                                     cuda::CollectiveSpec spec) const {
  spec.cpu_cost = setting_.cpu.collective;
  return spec;
}

cuda::CollectiveSpec TransformerWorkload::bucket(BucketPlace, cuda::CollectiveSpec spec) const {
  spec.cpu_cost = setting_.cpu.collective;
  return spec;
}

}  // namespace shardsim::training
