#include "models/training/fsdp1.hpp"

#include <utility>

#include <fmt/format.h>

#include "models/training/operation_names.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;

namespace {

/// _FreeEventQueue's constant: unsharded units whose release the GPU may not have reached yet.
constexpr std::size_t max_inflight_all_gathers = 2;

/// Splits the division by `ranks` around the reduction to stay away from over- and underflow:
/// DefaultState._get_gradient_predivide_factor.
std::int64_t predivide_factor(std::int64_t ranks) {
  std::int64_t factor = 1;
  while (ranks % factor == 0 && ranks / factor > factor) factor *= 2;
  return factor;
}

bool is_sharded(const TrainingSpec& spec, const GroupSizes& groups) {
  return spec.sharding != Sharding::no_shard && groups.world > 1;
}

}  // namespace

Fsdp1::Fsdp1(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder)
    : spec_(spec),
      recorder_(recorder),
      compute_type_(recorder.workload().compute_type()),
      reduce_type_(data_type(spec.reduce_dtype)),
      master_type_(data_type(spec.master_dtype)),
      sharded_(is_sharded(spec, groups)),
      reshards_after_forward_(sharded_ && spec.sharding != Sharding::shard_grad_op &&
                              spec.sharding != Sharding::hybrid_shard_zero2),
      shard_ranks_(sharded_ ? groups.shard : 1),
      replicas_(groups.replicas),
      predivide_(predivide_factor(groups.world)),
      postdivide_(groups.world / predivide_) {
  cuda::ProgramRecorder& program = recorder_.program();
  const int priority = spec_.limit_all_gathers && is_hybrid() ? -1 : 0;
  unshard_stream_ = program.create_stream("unshard", priority);
  post_backward_stream_ = program.create_stream("post_backward", priority);
  pre_unshard_stream_ = program.create_stream("pre_unshard", priority);
  shard_communicator_ = program.create_communicator(sharded_ ? "shard" : "world");
  if (is_hybrid()) {
    all_reduce_stream_ = program.create_stream("all_reduce");
    replica_communicator_ = program.create_communicator("repl");
  }
  create_units();
}

Fsdp1::~Fsdp1() {
  if (!wrapping_) return;
  recorder_.workload().set_module_hook({});
  recorder_.workload().set_gradient_hook({});
}

void Fsdp1::create_units() {
  Workload& model = recorder_.workload();
  if (spec_.wrap_policy == WrapPolicy::size) {
    wrap();
  } else {
    for (int index = root_unit; index < model.blocks(); ++index) add_unit(model.parameters(index));
  }
  optimizer_.emplace(spec_, std::move(tensors_));
}

void Fsdp1::add_unit(const std::vector<ParameterShape>& parameters) {
  constexpr std::int64_t alignment_bytes = 16;
  const std::int64_t alignment =
      spec_.use_orig_params ? alignment_bytes / gpu::bytes_per_element(compute_type_) : 1;
  Unit unit;
  unit.index = root_unit + static_cast<int>(units_.size());
  unit.sizes = flatten(parameters, shard_ranks_, alignment);
  const std::string name = "flat_param" + unit_name(unit.index);
  const Bytes shard = size_of(unit.sizes.shard_elements, master_type_);
  if (spec_.cpu_offload) {
    recorder_.hold_shard_on_host(shard);
  } else {
    recorder_.allocate(shard, UnitRecorder::compute, MemoryKind::parameters, name);
  }
  tensors_.push_back({name, unit.sizes.shard_elements});
  units_.push_back(std::move(unit));
}

void Fsdp1::unshard(Unit& unit) {
  const bool waits = spec_.use_orig_params && spec_.pre_unshard_waits_for_compute;
  if (waits) recorder_.program().wait_stream(pre_unshard_stream_, UnitRecorder::compute);
  if (pre_unshard(unit) || waits) {
    recorder_.program().wait_stream(unshard_stream_, pre_unshard_stream_);
  }
  // The limiter is asked even where the gather turns out to be a no-op.
  if (spec_.limit_all_gathers) wait_for_free_event(unit);
  if (sharded_ && !unit.unsharded) all_gather(unit);
}

/// Brings the shard that the all-gather will read to the GPU and casts it. False if nothing ran.
bool Fsdp1::pre_unshard(Unit& unit) {
  if (unit.unsharded || (!mixed_precision() && !spec_.cpu_offload)) return false;
  const std::int64_t shard = unit.sizes.shard_elements;
  Buffer& target = sharded_ ? unit.low_precision_shard : unit.full_parameter;
  Buffer from_host;
  if (spec_.cpu_offload) {
    const Bytes bytes = size_of(shard, master_type_);
    from_host = recorder_.allocate(bytes, pre_unshard_stream_, MemoryKind::communication_buffers,
                                   "shard from host");
    recorder_.host_copy(pre_unshard_stream_, unit.index, "host_to_device", bytes);
  }
  unit.unsharded = !sharded_;
  if (!mixed_precision()) {
    target = from_host;
    return true;
  }
  const Bytes low_precision = size_of(shard, compute_type_);
  target = recorder_.allocate(
      low_precision, pre_unshard_stream_,
      sharded_ ? MemoryKind::communication_buffers : MemoryKind::gathered_parameters,
      "low-precision shard");
  recorder_.copy(pre_unshard_stream_, CopyRole::cast, unit.index, "cast",
                 size_of(shard, master_type_) + low_precision);
  recorder_.release(from_host);
  return true;
}

void Fsdp1::wait_for_free_event(const Unit& unit) {
  if (free_events_.size() < max_inflight_all_gathers) return;
  const FreeEvent oldest = std::move(free_events_.front());
  free_events_.pop_front();
  recorder_.program().synchronize_event(
      oldest.event,
      fmt::format("limiter@unshard({}) waits free({})", unit_name(unit.index), oldest.name));
}

void Fsdp1::all_gather(Unit& unit) {
  const Bytes full = size_of(unit.sizes.padded_elements, compute_type_);
  unit.full_parameter = recorder_.allocate(full, unshard_stream_, MemoryKind::gathered_parameters,
                                           "flat_param" + unit_name(unit.index) + ".unsharded");
  recorder_.collective(unshard_stream_, CollectiveRole::all_gather, unit.index, "all_gather",
                       {.kind = CollectiveKind::all_gather,
                        .communicator = shard_communicator_,
                        .bytes = full,
                        .type = compute_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  unit.unsharded = true;
  recorder_.record_stream(unit.low_precision_shard, unshard_stream_);
  recorder_.release(unit.low_precision_shard);
}

/// Points the unit at its shard; `free` drops the unsharded storage at CPU time, though the compute
/// stream may still read it.
void Fsdp1::reshard(Unit& unit, bool free, const char* pass) {
  if (free) {
    recorder_.record_stream(unit.full_parameter, UnitRecorder::compute);
    recorder_.release(unit.full_parameter);
    unit.unsharded = false;
    if (spec_.limit_all_gathers) {
      free_events_.push_back(
          {recorder_.program().record_event(UnitRecorder::compute), pass + unit_name(unit.index)});
    }
  } else if (!sharded_ && unit.full_parameter) {
    recorder_.record_stream(unit.full_parameter, UnitRecorder::compute);
    recorder_.release(unit.full_parameter);
    unit.unsharded = false;
  }
  unit.prefetched = false;
}

void Fsdp1::root_pre_forward() {
  // The first all-gather must see the parameters that the optimizer has written.
  recorder_.program().wait_stream(unshard_stream_, UnitRecorder::compute);
  recorder_.program().wait_stream(pre_unshard_stream_, UnitRecorder::compute);
  for (Unit& unit : units_) {
    unit.needs_forward_unshard = true;
    unit.modules_left = 0;  // recomputation may have stopped inside a unit
  }
}

void Fsdp1::pre_forward(int index) {
  if (index == root_unit) root_pre_forward();
  if (is_called_for(index)) before_forward(unit(index));
}

void Fsdp1::before_forward(Unit& current) {
  recorder_.hooks();
  if (!current.prefetched || spec_.fsdp1_v113) unshard(current);
  current.needs_forward_unshard = false;
  recorder_.program().wait_stream(UnitRecorder::compute, unshard_stream_);
  prefetch_forward(current);
}

void Fsdp1::prefetch_forward(const Unit& current) {
  if (spec_.forward_prefetch == 0 || !forward_order_known_) return;
  if (spec_.fsdp1_v113 && current.index != root_unit) return;
  const int next = current.index + 1;
  if (next + 1 >= static_cast<int>(units_.size())) return;
  Unit& target = unit(next);
  if (!target.needs_forward_unshard || target.prefetched) return;
  unshard(target);
  target.prefetched = true;
}

void Fsdp1::post_forward(int index) {
  if (is_called_for(index)) after_forward(unit(index));
}

void Fsdp1::after_forward(Unit& current) {
  if (!current.post_forward_index) {  // recomputation does not count
    current.post_forward_index = post_forward_order_.size();
    post_forward_order_.push_back(current.index);
  }
  reshard(current, reshards_after_forward_ && current.index != root_unit, "fwd");
  current.needs_backward_unshard = true;
}

void Fsdp1::pre_backward(int index) {
  if (is_called_for(index)) before_backward(unit(index));
}

void Fsdp1::before_backward(Unit& current) {
  recorder_.hooks();
  if (current.needs_backward_unshard) {
    if (!current.prefetched || spec_.fsdp1_v113) unshard(current);
    recorder_.program().wait_stream(UnitRecorder::compute, unshard_stream_);
  }
  current.needs_backward_unshard = false;
  if (spec_.backward_prefetch.policy() == BackwardPrefetchPolicy::pre) prefetch_backward(current);
}

void Fsdp1::prefetch_backward(const Unit& current) {
  if (!current.post_forward_index || *current.post_forward_index == 0) return;
  Unit& target = unit(post_forward_order_[*current.post_forward_index - 1]);
  if (!target.needs_backward_unshard || target.prefetched) return;
  unshard(target);
  target.prefetched = true;
}

/// Without gradient sync, strategies that keep parameters after forward keep them after backward.
bool Fsdp1::frees_in_backward() const {
  return sharded_ && (micro_batch_.reduce_gradients || reshards_after_forward_);
}

void Fsdp1::post_backward(int index) {
  if (is_called_for(index)) after_backward(unit(index));
}

void Fsdp1::after_backward(Unit& current) {
  collect_gradient(current);
  reshard(current, frees_in_backward(), "bwd");
  if (spec_.backward_prefetch.policy() == BackwardPrefetchPolicy::post) prefetch_backward(current);
  if (micro_batch_.reduce_gradients) reduce_gradient(current);
}

void Fsdp1::finish_backward() {
  if (micro_batch_.reduce_gradients) {
    recorder_.program().wait_stream(UnitRecorder::compute, post_backward_stream_);
    if (is_hybrid()) recorder_.program().wait_stream(UnitRecorder::compute, all_reduce_stream_);
  }
  if (spec_.cpu_offload) {
    recorder_.program().synchronize_event(recorder_.program().record_event(UnitRecorder::compute),
                                          "gradients in host memory");
    for (Unit& unit : units_) {
      recorder_.release(unit.sharded_gradient);
      if (micro_batch_.reduce_gradients) recorder_.release(unit.unsharded_gradient);
    }
  }
  for (Unit& unit : units_) {
    unit.post_forward_index.reset();
    unit.in_backward = false;
  }
  post_forward_order_.clear();
  forward_order_known_ = true;
}

void Fsdp1::optimizer_step() {
  if (spec_.gradient_clipping) {
    optimizer_->clip_gradients(recorder_, shard_communicator_, sharded_);
  }
  optimizer_->step(recorder_);
  for (Unit& unit : units_) {
    recorder_.release(unit.sharded_gradient);
    recorder_.release(unit.unsharded_gradient);
  }
}

}  // namespace shardsim::training
