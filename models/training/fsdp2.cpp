#include "models/training/fsdp2.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace shardsim::training {

using cuda::MemoryKind;

namespace {

constexpr int high_priority = -1;

std::vector<OptimizedTensor> local_shards(const PerParameterUnit& unit) {
  std::vector<OptimizedTensor> shards;
  for (const ShardedParameter& parameter : unit.parameters) {
    shards.push_back({parameter.name, parameter.shard_elements});
  }
  return shards;
}

}  // namespace

Fsdp2::Fsdp2(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder)
    : spec_(spec),
      recorder_(recorder),
      compute_type_(recorder.workload().compute_type()),
      reduce_type_(data_type(spec.reduce_dtype)),
      master_type_(data_type(spec.master_dtype)),
      replicas_(groups.replicas),
      shard_ranks_(groups.shard),
      parts_(spec.embedding_and_head_units) {
  cuda::ProgramRecorder& program = recorder_.program();
  copy_in_stream_ = program.create_stream("ag_copy_in", high_priority);
  all_gather_stream_ = program.create_stream("all_gather", high_priority);
  reduce_scatter_stream_ = program.create_stream("reduce_scatter", high_priority);
  shard_communicator_ = program.create_communicator("shard");
  reduce_communicator_ = spec.separate_reduce_scatter_group
                             ? program.create_communicator("reduce_scatter")
                             : shard_communicator_;
  if (replicas_ > 1) {
    all_reduce_stream_ = program.create_stream("all_reduce");
    replica_communicator_ = program.create_communicator("repl");
  }
  create_units(groups);
  set_prefetch_lists();
}

void Fsdp2::create_units(const GroupSizes& groups) {
  const bool reshards = spec_.reshards_blocks();
  if (reshards && spec_.reshard_after_forward) {
    const auto* ranks = std::get_if<std::int64_t>(&spec_.reshard_after_forward->value);
    if (ranks && *ranks < groups.shard) {
      group_ranks_ = *ranks;
      group_communicator_ = recorder_.program().create_communicator("reshard");
    }
  }
  const bool root_reshards =
      reshards && spec_.root_rule == RootRule::follow && spec_.reshard_after_forward.has_value();
  const Workload& model = recorder_.workload();
  std::vector<OptimizedTensor> tensors;
  const std::vector<ParameterShape>& root = model.parameters(root_unit);
  add_unit(root_unit, parts_ ? std::vector<ParameterShape>{} : root, root_reshards, tensors);
  for (int index = 0; index < model.blocks(); ++index) {
    add_unit(index, model.parameters(index), reshards, tensors);
  }
  if (parts_) {
    const auto head = root.begin() + static_cast<std::ptrdiff_t>(model.parameters_before_blocks());
    add_unit(embedding_unit, {root.begin(), head}, reshards, tensors);
    // Backward begins with the head: it would be gathered again at once.
    add_unit(head_unit, {head, root.end()}, false, tensors);
  }
  optimizer_.emplace(spec_, std::move(tensors));
}

void Fsdp2::add_unit(int index, const std::vector<ParameterShape>& parameters, bool reshards,
                     std::vector<OptimizedTensor>& tensors) {
  Unit unit;
  unit.index = index;
  unit.sizes = shard_per_parameter(parameters, shard_ranks_);
  unit.reshard_after_forward = reshards;
  unit.reshard_to_group = reshards && group_ranks_ > 0;
  for (const OptimizedTensor& shard : local_shards(unit.sizes)) {
    const simcore::Bytes bytes = size_of(shard.elements, master_type_);
    if (spec_.cpu_offload) {
      recorder_.hold_shard_on_host(bytes);
    } else {
      recorder_.allocate(bytes, UnitRecorder::compute, MemoryKind::parameters, shard.name);
    }
    tensors.push_back(shard);
  }
  units_.push_back(std::move(unit));
}

Fsdp2::Unit& Fsdp2::unit(int index) {
  const auto blocks = static_cast<std::size_t>(recorder_.workload().blocks());
  if (index == embedding_unit) return units_[blocks + 1];
  if (index == head_unit) return units_[blocks + 2];
  return units_[static_cast<std::size_t>(index + 1)];
}

/// set_modules_to_forward_prefetch and set_modules_to_backward_prefetch with the next units in
/// their order. A backward depth of 1 is the default, which needs no list.
void Fsdp2::set_prefetch_lists() {
  const int blocks = recorder_.workload().blocks();
  const auto forward = static_cast<int>(std::min<std::int64_t>(spec_.forward_prefetch, blocks));
  const std::int64_t depth = spec_.backward_prefetch.depth();
  const auto backward = depth > 1 ? static_cast<int>(std::min<std::int64_t>(depth, blocks)) : 0;
  for (Unit& unit : units_) {
    const bool begins = &unit == &first_of_root();
    const bool ends = &unit == &last_of_root();
    if (unit.index < 0 && !begins && !ends) continue;
    const int next = begins ? 0 : ends ? blocks : unit.index + 1;
    for (int i = next; i < std::min(next + forward, blocks); ++i) {
      unit.forward_prefetch.push_back(i);
    }
    const int previous = ends ? blocks - 1 : begins ? -1 : unit.index - 1;
    for (int i = previous; i > std::max(previous - backward, -1); --i) {
      unit.backward_prefetch.push_back(i);
    }
  }
}

void Fsdp2::root_pre_forward() {
  // The first all-gather must see the parameters that the optimizer has written.
  recorder_.program().wait_stream(copy_in_stream_, UnitRecorder::compute);
  recorder_.program().wait_stream(all_gather_stream_, UnitRecorder::compute);
}

void Fsdp2::pre_forward(int index) {
  if (index == root_unit) root_pre_forward();
  begin_forward(index == root_unit ? first_of_root() : unit(index));
}

void Fsdp2::begin_forward(Unit& current) {
  recorder_.hooks();
  unshard(current);
  wait_for_unshard(current, Phase::forward);
  for (const int next : current.forward_prefetch) unshard(unit(next));
}

void Fsdp2::after_embedding_forward() {
  if (parts_) end_forward(unit(embedding_unit));
}

void Fsdp2::before_head_forward() {
  if (parts_) begin_forward(unit(head_unit));
}

void Fsdp2::post_forward(int index) {
  end_forward(index == root_unit ? last_of_root() : unit(index));
  if (index == root_unit) release_parked_all_gather();
}

void Fsdp2::end_forward(Unit& current) {
  reshard(current, Phase::forward);
  current.post_forward_indices.push_back(post_forward_order_.size());
  post_forward_order_.push_back(current.index);
}

void Fsdp2::pre_backward(int index) {
  begin_backward(index == root_unit ? last_of_root() : unit(index));
}

void Fsdp2::begin_backward(Unit& current) {
  recorder_.hooks();
  unshard(current);
  wait_for_unshard(current, Phase::backward);
  if (!current.backward_prefetch.empty()) {
    for (const int previous : current.backward_prefetch) unshard(unit(previous));
  } else if (spec_.backward_prefetch.depth() == 1) {
    default_backward_prefetch(current);
  }
}

void Fsdp2::after_head_backward() {
  if (parts_) run_post_backward(unit(head_unit));
}

void Fsdp2::before_embedding_backward() {
  if (parts_) begin_backward(unit(embedding_unit));
}

/// The unit whose forward ended before this one's.
void Fsdp2::default_backward_prefetch(Unit& current) {
  if (current.post_forward_indices.empty()) return;
  const std::size_t position = current.post_forward_indices.back();
  current.post_forward_indices.pop_back();
  if (position > 0) unshard(unit(post_forward_order_[position - 1]));
}

void Fsdp2::post_backward(int index) {
  // Integers, the root's inputs, have no gradient that could carry its hook: see finish_backward.
  if (index != root_unit) run_post_backward(unit(index));
}

void Fsdp2::run_post_backward(Unit& current) {
  collect_gradients(current);
  if (spec_.reshard_after_backward) reshard(current, Phase::backward);
  if (!micro_batch_.reduce_gradients) {
    keep_gradients(current);
    return;
  }
  wait_for_reduce_scatter();
  reduce_gradients(current);
}

void Fsdp2::finish_backward() {
  run_post_backward(first_of_root());
  for (Unit& unit : units_) {
    if (unit.post_reduce_event) {
      recorder_.program().wait_event(UnitRecorder::compute,
                                     *std::exchange(unit.post_reduce_event, std::nullopt));
    }
    recorder_.release(unit.all_reduce_input);
    if (unit.offload_event) {
      recorder_.program().synchronize_event(*std::exchange(unit.offload_event, std::nullopt),
                                            "gradient offload");
    }
    unit.post_forward_indices.clear();
  }
  post_forward_order_.clear();
  wait_for_reduce_scatter();
}

void Fsdp2::optimizer_step() {
  if (spec_.gradient_clipping) {
    optimizer_->clip_gradients(recorder_, shard_communicator_, shard_ranks_ > 1);
  }
  optimizer_->step(recorder_);
  for (Unit& unit : units_) {
    recorder_.release(unit.sharded_gradient);
    unit.host_gradient = false;
  }
}

}  // namespace shardsim::training
