#include "models/training/explicit_workload.hpp"

#include <string>

namespace shardsim::training {

using cuda::KernelCategory;
using simcore::SimTime;

namespace {

/// Times that no strategy in use needs may be missing from the specification.
SimTime given(const std::optional<SimTime>& time) { return time.value_or(SimTime{}); }

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

ExplicitWorkload::ExplicitWorkload(const ExplicitSpec& spec, SimTime launch_cost)
    : spec_(spec), launch_cost_(launch_cost) {}

const std::vector<ParameterShape>& ExplicitWorkload::parameters(int) const {
  return no_parameters_;
}

cuda::KernelSpec ExplicitWorkload::kernel(KernelCategory category, SimTime time) const {
  return {.category = category, .work = gpu::FixedWork{time}, .cpu_cost = launch_cost_};
}

void ExplicitWorkload::compute(cuda::ProgramRecorder& recorder, std::string_view name,
                               SimTime time) const {
  recorder.launch(cuda::ProgramRecorder::compute_stream, name,
                  kernel(KernelCategory::compute, time));
}

void ExplicitWorkload::embedding_forward(cuda::ProgramRecorder& recorder) {
  compute(recorder, "embF", spec_.embedding_forward);
}

void ExplicitWorkload::block_forward(cuda::ProgramRecorder& recorder, int block) {
  compute(recorder, "F" + std::to_string(block), spec_.block_forward);
}

void ExplicitWorkload::head_forward(cuda::ProgramRecorder& recorder) {
  compute(recorder, "headF", spec_.head_forward);
}

void ExplicitWorkload::head_backward(cuda::ProgramRecorder& recorder) {
  compute(recorder, "headB", spec_.head_backward);
}

void ExplicitWorkload::block_backward(cuda::ProgramRecorder& recorder, int block) {
  compute(recorder, "B" + std::to_string(block), spec_.block_backward);
}

void ExplicitWorkload::embedding_backward(cuda::ProgramRecorder& recorder) {
  compute(recorder, "embB", spec_.embedding_backward);
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

cuda::CollectiveSpec ExplicitWorkload::timed(cuda::CollectiveSpec spec, SimTime time) const {
  spec.fixed_time = time;
  spec.cpu_cost = launch_cost_;
  return spec;
}

cuda::CollectiveSpec ExplicitWorkload::collective(CollectiveRole role, int unit,
                                                  cuda::CollectiveSpec spec) const {
  const bool root = unit == root_unit;
  switch (role) {
    case CollectiveRole::all_gather:
      return timed(spec, given(root ? spec_.all_gather_root : spec_.all_gather_block));
    case CollectiveRole::reduce_scatter:
      return timed(spec, given(root ? spec_.reduce_scatter_root : spec_.reduce_scatter_block));
    case CollectiveRole::all_reduce:
      return timed(spec, given(root ? spec_.all_reduce_root : spec_.all_reduce_block));
    case CollectiveRole::bucket:
    case CollectiveRole::gradient_norm:
      break;
  }
  return timed(spec, SimTime{});
}

cuda::CollectiveSpec ExplicitWorkload::bucket(BucketPlace place, cuda::CollectiveSpec spec) const {
  const SimTime head = given(spec_.ddp_head);
  const SimTime block = given(spec_.ddp_block);
  const SimTime embedding = given(spec_.ddp_embedding);
  switch (place) {
    case BucketPlace::head:
      return timed(spec, head);
    case BucketPlace::block:
      return timed(spec, block);
    case BucketPlace::embedding:
      return timed(spec, embedding);
    case BucketPlace::all:
      break;
  }
  return timed(spec, head + block * spec_.blocks + embedding);
}

}  // namespace shardsim::training
