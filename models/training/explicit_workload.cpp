#include "models/training/explicit_workload.hpp"

#include <array>
#include <cmath>
#include <map>
#include <string>

namespace shardsim::training {

using cuda::KernelCategory;
using simcore::SimTime;

namespace {

/// Times that no strategy in use needs may be missing from the specification.
SimTime given(const std::optional<SimTime>& time) { return time.value_or(SimTime{}); }

/// The root's parameters, and those of blocks, in the order of Workload::parameters.
constexpr std::size_t embedding = 0;
constexpr std::size_t head = 1;
constexpr std::array<std::size_t, 2> module_parameters{embedding, head};

}  // namespace

std::vector<std::string> missing_times(const ExplicitSpec& spec, const TrainingSpec& training,
                                       const GroupSizes& groups) {
  std::vector<std::string> missing;
  const auto need = [&missing](const std::optional<SimTime>& time, const char* key) {
    if (!time) missing.emplace_back(key);
  };
  if (training.strategy == Strategy::ddp) {
    need(spec.ddp_head, "ddp_head");
    need(spec.ddp_block, "ddp_block");
    need(spec.ddp_embedding, "ddp_embedding");
    return missing;
  }
  if (training.is_zero()) {
    need(spec.all_gather_root, "all_gather_root");
    need(spec.all_gather_block, "all_gather_block");
    const bool scatters = training.strategy == Strategy::zero3 && training.zero.reduce_scatter;
    need(scatters ? spec.reduce_scatter_root : spec.all_reduce_root,
         scatters ? "reduce_scatter_root" : "all_reduce_root");
    need(scatters ? spec.reduce_scatter_block : spec.all_reduce_block,
         scatters ? "reduce_scatter_block" : "all_reduce_block");
    return missing;
  }
  const bool sharded = training.sharding != Sharding::no_shard && groups.world > 1;
  if (sharded || training.strategy == Strategy::fsdp2) {
    need(spec.all_gather_root, "all_gather_root");
    need(spec.all_gather_block, "all_gather_block");
    need(spec.reduce_scatter_root, "reduce_scatter_root");
    need(spec.reduce_scatter_block, "reduce_scatter_block");
  }
  if ((!sharded && training.strategy == Strategy::fsdp1) || groups.replicas > 1) {
    need(spec.all_reduce_root, "all_reduce_root");
    need(spec.all_reduce_block, "all_reduce_block");
  }
  return missing;
}

std::vector<std::string> missing_sizes(const ExplicitSpec& spec, const TrainingSpec& training) {
  std::vector<std::string> missing;
  if (!training.is_zero()) return missing;
  if (!spec.embedding_parameters) missing.emplace_back("embedding_parameters");
  if (!spec.block_parameters) missing.emplace_back("block_parameters");
  if (!spec.head_parameters) missing.emplace_back("head_parameters");
  return missing;
}

ExplicitWorkload::ExplicitWorkload(const ExplicitSpec& spec, SimTime launch_cost, bool sized)
    : spec_(spec), launch_cost_(launch_cost), sized_(sized) {
  if (!sized) return;
  root_parameters_ = {{"embedding", {spec.embedding_parameters.value_or(0)}},
                      {"head", {spec.head_parameters.value_or(0)}}};
  block_parameters_ = {{"block", {spec.block_parameters.value_or(0)}}};
}

const std::vector<ParameterShape>& ExplicitWorkload::parameters(int unit) const {
  return unit == root_unit ? root_parameters_ : block_parameters_;
}

cuda::KernelSpec ExplicitWorkload::kernel(KernelCategory category, SimTime time) const {
  return {.category = category, .work = gpu::FixedWork{time}, .cpu_cost = launch_cost_};
}

void ExplicitWorkload::compute(cuda::ProgramRecorder& recorder, std::string_view name,
                               SimTime time) const {
  recorder.launch(cuda::ProgramRecorder::compute_stream, name,
                  kernel(KernelCategory::compute, time));
}

void ExplicitWorkload::module_forward(cuda::ProgramRecorder& recorder,
                                      const ParameterRef& parameter, std::string_view name,
                                      SimTime time) const {
  const std::span<const std::size_t> module =
      std::span(module_parameters).subspan(parameter.parameter, 1);
  if (sized_) at_module(ModulePoint::pre_forward, parameter.unit, module);
  compute(recorder, name, time);
  if (sized_) at_module(ModulePoint::post_forward, parameter.unit, module);
}

void ExplicitWorkload::module_backward(cuda::ProgramRecorder& recorder,
                                       const ParameterRef& parameter, std::string_view name,
                                       SimTime time) {
  const std::span<const std::size_t> module =
      std::span(module_parameters).subspan(parameter.parameter, 1);
  if (sized_) at_module(ModulePoint::pre_backward, parameter.unit, module);
  compute(recorder, name, time);
  if (!sized_) return;
  at_module(ModulePoint::post_backward, parameter.unit, module);
  const std::int64_t elements = parameters(parameter.unit)[parameter.parameter].elements();
  gradient_ready(recorder, {parameter.unit, parameter.parameter,
                            recorder.allocate(
                                simcore::Bytes{elements * gpu::bytes_per_element(compute_type())},
                                cuda::ProgramRecorder::compute_stream, cuda::MemoryKind::gradients,
                                "gradient")});
}

void ExplicitWorkload::embedding_forward(cuda::ProgramRecorder& recorder) {
  module_forward(recorder, {root_unit, embedding}, "embF", spec_.embedding_forward);
}

void ExplicitWorkload::block_forward(cuda::ProgramRecorder& recorder, int block) {
  module_forward(recorder, {block, 0}, "F" + std::to_string(block), spec_.block_forward);
}

void ExplicitWorkload::head_forward(cuda::ProgramRecorder& recorder) {
  module_forward(recorder, {root_unit, head}, "headF", spec_.head_forward);
}

void ExplicitWorkload::head_backward(cuda::ProgramRecorder& recorder) {
  module_backward(recorder, {root_unit, head}, "headB", spec_.head_backward);
}

void ExplicitWorkload::block_backward(cuda::ProgramRecorder& recorder, int block) {
  module_backward(recorder, {block, 0}, "B" + std::to_string(block), spec_.block_backward);
}

void ExplicitWorkload::embedding_backward(cuda::ProgramRecorder& recorder) {
  module_backward(recorder, {root_unit, embedding}, "embB", spec_.embedding_backward);
}

void ExplicitWorkload::optimizer(cuda::ProgramRecorder& recorder, std::int64_t, std::int64_t) {
  recorder.launch(cuda::ProgramRecorder::compute_stream, "OPT",
                  kernel(KernelCategory::optimizer, spec_.optimizer));
}

cuda::KernelSpec ExplicitWorkload::copy(CopyRole role, int, simcore::Bytes, std::int64_t) const {
  switch (role) {
    case CopyRole::copy_in:
      return kernel(KernelCategory::copy, spec_.copy_in);
    case CopyRole::copy_out:
      return kernel(KernelCategory::copy, spec_.copy_out);
    case CopyRole::gradient_copy_in:
      return kernel(KernelCategory::copy, spec_.gradient_copy_in);
    case CopyRole::cast:
    case CopyRole::concatenate:
    case CopyRole::accumulate:
    case CopyRole::scale:
    case CopyRole::norm:
      break;
  }
  return kernel(KernelCategory::copy, SimTime{});
}

cuda::KernelSpec ExplicitWorkload::host_copy(simcore::Bytes, std::int64_t) const {
  return kernel(KernelCategory::copy, spec_.host_copy);
}

SimTime ExplicitWorkload::host_optimizer(std::int64_t, std::int64_t) const {
  return spec_.optimizer;
}

cuda::CollectiveSpec ExplicitWorkload::timed(cuda::CollectiveSpec spec, SimTime time) const {
  spec.fixed_time = time;
  spec.cpu_cost = launch_cost_;
  return spec;
}

SimTime ExplicitWorkload::unit_time(CollectiveRole role, int unit) const {
  const bool root = unit == root_unit;
  switch (role) {
    case CollectiveRole::all_gather:
      return given(root ? spec_.all_gather_root : spec_.all_gather_block);
    case CollectiveRole::reduce_scatter:
      return given(root ? spec_.reduce_scatter_root : spec_.reduce_scatter_block);
    case CollectiveRole::all_reduce:
    case CollectiveRole::bucket:
      return given(root ? spec_.all_reduce_root : spec_.all_reduce_block);
    case CollectiveRole::gradient_norm:
      break;
  }
  return SimTime{};
}

cuda::CollectiveSpec ExplicitWorkload::collective(CollectiveRole role, int unit,
                                                  cuda::CollectiveSpec spec) const {
  return timed(spec, unit_time(role, unit));
}

cuda::CollectiveSpec ExplicitWorkload::collective_of(CollectiveRole role,
                                                     std::span<const ParameterRef> parameters,
                                                     cuda::CollectiveSpec spec) const {
  std::map<int, std::int64_t> elements;
  for (const ParameterRef& part : parameters) {
    elements[part.unit] += this->parameters(part.unit)[part.parameter].elements();
  }
  SimTime time;
  for (const auto& [unit, count] : elements) {
    std::int64_t whole = 0;
    for (const ParameterShape& parameter : this->parameters(unit)) whole += parameter.elements();
    if (whole == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(whole);
    const auto picoseconds = static_cast<double>(unit_time(role, unit).picoseconds());
    time += SimTime::picoseconds(std::llround(picoseconds * share));
  }
  return timed(spec, time);
}

cuda::CollectiveSpec ExplicitWorkload::bucket(BucketPlace place, cuda::CollectiveSpec spec) const {
  const SimTime of_head = given(spec_.ddp_head);
  const SimTime of_block = given(spec_.ddp_block);
  const SimTime of_embedding = given(spec_.ddp_embedding);
  switch (place) {
    case BucketPlace::head:
      return timed(spec, of_head);
    case BucketPlace::block:
      return timed(spec, of_block);
    case BucketPlace::embedding:
      return timed(spec, of_embedding);
    case BucketPlace::all:
      break;
  }
  return timed(spec, of_head + of_block * spec_.blocks + of_embedding);
}

}  // namespace shardsim::training
