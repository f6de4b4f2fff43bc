#include "models/training/ddp.hpp"

#include <algorithm>
#include <utility>

#include "models/training/ddp_buckets.hpp"
#include "models/training/operation_names.hpp"

namespace shardsim::training {

using cuda::MemoryKind;
using simcore::Bytes;

Ddp::Ddp(const TrainingSpec& spec, const GroupSizes&, UnitRecorder& recorder)
    : spec_(spec),
      recorder_(recorder),
      compute_type_(recorder.workload().compute_type()),
      master_type_(data_type(spec.master_dtype)) {
  nccl_stream_ = recorder_.program().create_stream("nccl");
  world_ = recorder_.program().create_communicator("world");
  create_parameters();
  prescribed_ = parameters_.empty();
  if (finds_unused()) {
    set_registered_buckets();
  } else {
    Bucket all{.name = prescribed_ ? "ARall" : "parameters.all_reduce", .place = BucketPlace::all};
    for (std::size_t i = 0; i < parameters_.size(); ++i) all.parameters.push_back(i);
    set_buckets({std::move(all)});
  }
  recorder_.workload().set_gradient_hook(
      [this](cuda::ProgramRecorder&, const Gradient& gradient) { gradient_ready(gradient); });
}

Ddp::~Ddp() { recorder_.workload().set_gradient_hook({}); }

void Ddp::create_parameters() {
  Workload& model = recorder_.workload();
  std::vector<OptimizedTensor> tensors;
  for (int unit = root_unit; unit < model.blocks(); ++unit) {
    const std::vector<ParameterShape>& shapes = model.parameters(unit);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::int64_t elements = shapes[i].elements();
      parameter_ids_[{unit, i}] = parameters_.size();
      parameters_.push_back(
          {.unit = unit,
           .elements = elements,
           .cast_by_autocast = compute_type_ != master_type_ && shapes[i].shape.size() >= 2});
      recorder_.allocate(size_of(elements, master_type_), UnitRecorder::compute,
                         MemoryKind::parameters, shapes[i].name);
      tensors.push_back({shapes[i].name, elements});
    }
  }
  optimizer_.emplace(spec_, std::move(tensors));
}

/// New buckets are allocated before the old ones go, as in the reducer's constructor and rebuild.
void Ddp::set_buckets(std::vector<Bucket> buckets) {
  const MemoryKind kind =
      spec_.gradient_as_bucket_view ? MemoryKind::gradients : MemoryKind::communication_buffers;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Bucket& bucket = buckets[b];
    bucket.bytes = {};
    for (const std::size_t id : bucket.parameters) {
      parameters_[id].bucket = b;
      bucket.bytes += size_of(parameters_[id].elements, master_type_);
    }
    bucket.pending = bucket.parameters.size();
    bucket.buffer = recorder_.allocate(bucket.bytes, UnitRecorder::compute, kind, bucket.name);
  }
  for (Bucket& old : buckets_) recorder_.release(old.buffer);
  buckets_ = std::move(buckets);
  next_bucket_ = 0;
}

/// One each for the head, the blocks and the embedding.
std::vector<Ddp::Bucket> Ddp::prescribed_buckets() const {
  std::vector<Bucket> buckets;
  buckets.push_back({.name = "ARhead", .place = BucketPlace::head});
  for (int block = recorder_.workload().blocks() - 1; block >= 0; --block) {
    buckets.push_back({.name = recorder_.workload().unit_operation("all_reduce", block),
                       .place = BucketPlace::block});
  }
  buckets.push_back({.name = "ARemb", .place = BucketPlace::embedding});
  return buckets;
}

std::vector<Ddp::Bucket> Ddp::buckets_of(const std::vector<std::size_t>& order) const {
  std::vector<Bytes> sizes;
  for (const std::size_t id : order) {
    sizes.push_back(size_of(parameters_[id].elements, master_type_));
  }
  const Bytes first = spec_.bucket_cap.value_or(ddp_first_bucket_cap);
  const Bytes others = spec_.bucket_cap.value_or(ddp_bucket_cap);
  std::vector<Bucket> buckets;
  for (const std::vector<std::size_t>& group : assign_buckets(sizes, first, others)) {
    Bucket bucket;
    for (const std::size_t i : group) bucket.parameters.push_back(order[i]);
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

void Ddp::name_and_set_buckets(std::vector<Bucket> buckets) {
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i].name = bucket_operation("all_reduce", i);
  }
  set_buckets(std::move(buckets));
}

void Ddp::rebuild_buckets() {
  rebuilt_ = true;
  if (prescribed_) {
    set_buckets(prescribed_buckets());
  } else {
    name_and_set_buckets(buckets_of(ready_order_));
  }
}

/// Buckets are filled in the order of registration and reduced in the reverse: the one with the
/// first bucket's cap is the last.
void Ddp::set_registered_buckets() {
  rebuilt_ = true;
  if (prescribed_) return set_buckets(prescribed_buckets());
  std::vector<std::size_t> order;
  for (const ParameterRef& parameter : registration_order(recorder_.workload())) {
    order.push_back(parameter_ids_.at({parameter.unit, parameter.parameter}));
  }
  std::vector<Bucket> buckets = buckets_of(order);
  std::reverse(buckets.begin(), buckets.end());
  name_and_set_buckets(std::move(buckets));
}

void Ddp::pre_forward(int unit) {
  const int rebuild_after = spec_.static_graph ? 2 : 1;
  if (unit == root_unit && !rebuilt_ && synchronized_backwards_ >= rebuild_after) {
    rebuild_buckets();
  }
  for (Parameter& parameter : parameters_) {
    if (parameter.unit != unit || !parameter.cast_by_autocast) continue;
    const Bytes bytes = size_of(parameter.elements, compute_type_);
    parameter.low_precision = recorder_.allocate(
        bytes, UnitRecorder::compute, MemoryKind::gathered_parameters, "autocast weight");
    recorder_.copy(UnitRecorder::compute, CopyRole::cast, unit, "cast",
                   bytes + size_of(parameter.elements, master_type_));
  }
}

void Ddp::pre_backward(int unit) {
  if (prescribed_ && unit == recorder_.workload().blocks() - 1) {
    prescribed_gradient_ready(BucketPlace::head);
  }
}

void Ddp::post_backward(int unit) {
  for (Parameter& parameter : parameters_) {
    if (parameter.unit == unit) recorder_.release(parameter.low_precision);
  }
  if (prescribed_) {
    prescribed_gradient_ready(unit == root_unit ? BucketPlace::embedding : BucketPlace::block);
  }
}

void Ddp::prescribed_gradient_ready(BucketPlace place) {
  if (!micro_batch_.reduce_gradients || next_bucket_ >= buckets_.size()) return;
  if (rebuilt_ || place == BucketPlace::embedding) all_reduce(buckets_[next_bucket_++]);
}

void Ddp::gradient_ready(const Gradient& gradient) {
  const std::size_t id = parameter_ids_.at({gradient.unit, gradient.parameter});
  Parameter& parameter = parameters_[id];
  Buffer fresh = gradient.tensor;
  if (compute_type_ != master_type_) {
    // The backward of autocast's cast.
    Buffer low_precision = fresh;
    const Bytes bytes = size_of(parameter.elements, master_type_);
    fresh = recorder_.allocate(bytes, UnitRecorder::compute, MemoryKind::gradients, "gradient");
    recorder_.copy(UnitRecorder::compute, CopyRole::cast, parameter.unit, "cast_grad",
                   bytes + size_of(parameter.elements, compute_type_));
    recorder_.release(low_precision);
  }
  accumulate(parameter, fresh);
  if (micro_batch_.reduce_gradients) mark_ready(id);
}

void Ddp::accumulate(Parameter& parameter, Buffer fresh) {
  if (!parameter.has_gradient) {
    parameter.gradient = fresh;
    parameter.has_gradient = true;
    return;
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::accumulate, parameter.unit, "accumulate",
                 size_of(parameter.elements, master_type_) * 3);
  recorder_.release(fresh);
}

/// Copies the averaged gradient into its slot; in place if it is the slot.
void Ddp::mark_ready(std::size_t id) {
  Parameter& parameter = parameters_[id];
  if (!rebuilt_) ready_order_.push_back(id);
  recorder_.copy(UnitRecorder::compute, CopyRole::scale, parameter.unit, "to_bucket",
                 size_of(parameter.elements, master_type_) * 2);
  if (spec_.gradient_as_bucket_view) recorder_.release(parameter.gradient);
  --buckets_[parameter.bucket].pending;
  launch_ready_buckets();
}

void Ddp::launch_ready_buckets() {
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0) {
    all_reduce(buckets_[next_bucket_++]);
  }
  if (finds_unused() && next_bucket_ == buckets_.size() && !used_map_reduced_) {
    all_reduce_used_map();
  }
}

/// One integer for each parameter, behind the last bucket.
void Ddp::all_reduce_used_map() {
  cuda::ProgramRecorder& program = recorder_.program();
  const auto count = static_cast<std::int64_t>(parameters_.size());
  const cuda::CollectiveSpec spec{.kind = cuda::CollectiveKind::all_reduce,
                                  .communicator = world_,
                                  .bytes = size_of(count, gpu::DataType::fp32),
                                  .type = gpu::DataType::fp32,
                                  .fixed_time = {},
                                  .cpu_cost = {}};
  program.wait_stream(nccl_stream_, UnitRecorder::compute);
  program.launch(nccl_stream_, "used_parameters.all_reduce",
                 recorder_.workload().bucket(BucketPlace::embedding, spec));
  used_map_reduced_ = program.record_event(nccl_stream_);
}

void Ddp::all_reduce(Bucket& bucket) {
  cuda::ProgramRecorder& program = recorder_.program();
  program.wait_stream(nccl_stream_, UnitRecorder::compute);
  program.launch(
      nccl_stream_, bucket.name,
      recorder_.workload().bucket(bucket.place, {.kind = cuda::CollectiveKind::all_reduce,
                                                 .communicator = world_,
                                                 .bytes = bucket.bytes,
                                                 .type = master_type_,
                                                 .fixed_time = {},
                                                 .cpu_cost = {}}));
  bucket.reduced = program.record_event(nccl_stream_);
}

void Ddp::copy_back(const Bucket& bucket) {
  if (spec_.gradient_as_bucket_view) return;
  for (const std::size_t id : bucket.parameters) {
    const Parameter& parameter = parameters_[id];
    recorder_.copy(UnitRecorder::compute, CopyRole::cast, parameter.unit, "from_bucket",
                   size_of(parameter.elements, master_type_) * 2);
  }
}

void Ddp::finish_backward() {
  if (!micro_batch_.reduce_gradients) return;
  for (Bucket& bucket : buckets_) {
    if (bucket.reduced) recorder_.program().wait_event(UnitRecorder::compute, *bucket.reduced);
    copy_back(bucket);
    bucket.reduced.reset();
    bucket.pending = bucket.parameters.size();
  }
  if (used_map_reduced_) {
    recorder_.program().wait_event(UnitRecorder::compute,
                                   *std::exchange(used_map_reduced_, std::nullopt));
  }
  next_bucket_ = 0;
  ++synchronized_backwards_;
  if (!rebuilt_ && spec_.static_graph && synchronized_backwards_ == 1) ready_order_.clear();
}

void Ddp::optimizer_step() {
  if (spec_.gradient_clipping) optimizer_->clip_gradients(recorder_, world_, false);
  optimizer_->step(recorder_);
  for (Parameter& parameter : parameters_) {
    recorder_.release(parameter.gradient);
    parameter.has_gradient = false;
  }
}

}  // namespace shardsim::training
