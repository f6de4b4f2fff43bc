#include "models/training/zero12.hpp"

#include <algorithm>
#include <string>

#include "models/training/operation_names.hpp"
#include "simcore/integer.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;
using simcore::divide_up;

namespace {

/// Slices of the flat buffer start at multiples of four bytes: nccl_start_alignment_factor.
constexpr std::int64_t alignment_factor = 2;

}  // namespace

Zero12::Zero12(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder)
    : spec_(spec.zero),
      recorder_(recorder),
      type_(recorder.workload().compute_type()),
      stage2_(spec.strategy == Strategy::zero2),
      overlaps_(spec.zero.overlaps(false)),
      ranks_(groups.world) {
  communicator_ = recorder_.program().create_communicator("shard");
  if (overlaps_) reduction_stream_ = recorder_.program().create_stream("reduction");
  create_parameters();
  optimizer_.emplace(spec, std::vector{flat_elements_ / ranks_}, recorder_);
  recorder_.workload().set_gradient_hook(
      [this](cuda::ProgramRecorder&, const Gradient& gradient) { gradient_ready(gradient); });
}

Zero12::~Zero12() { recorder_.workload().set_gradient_hook({}); }

void Zero12::create_parameters() {
  const Workload& model = recorder_.workload();
  for (const ParameterRef& ref : registration_order(model)) {
    const std::int64_t elements = model.parameters(ref.unit)[ref.parameter].elements();
    parameter_ids_[{ref.unit, ref.parameter}] = parameters_.size();
    parameters_.push_back({.ref = ref, .elements = elements, .offset = flat_elements_});
    flat_elements_ += elements;
  }
  const std::int64_t multiple = alignment_factor * ranks_;
  flat_elements_ = divide_up(flat_elements_, multiple) * multiple;
  recorder_.allocate(bytes_of(flat_elements_), UnitRecorder::compute, MemoryKind::parameters,
                     "flat parameters");
}

void Zero12::gradient_ready(const Gradient& gradient) {
  const std::size_t id = parameter_ids_.at({gradient.unit, gradient.parameter});
  keep_gradient(parameters_[id], gradient.tensor);
  if (!reduces_now()) return;
  allocate_buffers();
  if (reduces_in_backward()) add_to_bucket(id);
}

void Zero12::keep_gradient(Parameter& parameter, Buffer fresh) {
  if (!parameter.has_gradient) {
    parameter.gradient = fresh;
    parameter.has_gradient = true;
    return;
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::accumulate, parameter.ref.unit, "accumulate",
                 bytes_of(parameter.elements) * 3);
  recorder_.release(fresh);
}

/// At the first gradient of a backward pass; they live until its end.
void Zero12::allocate_buffers() {
  if (!spec_.contiguous_gradients || !buffers_.empty()) return;
  for (int i = 0; i < (overlaps_ ? 2 : 1); ++i) {
    buffers_.push_back(recorder_.allocate(bytes_of(spec_.reduce_bucket_size), UnitRecorder::compute,
                                          MemoryKind::communication_buffers, "gradient bucket"));
  }
}

void Zero12::add_to_bucket(std::size_t id) {
  Parameter& parameter = parameters_[id];
  if (bucket_.elements + parameter.elements > spec_.reduce_bucket_size) reduce_bucket();
  if (spec_.contiguous_gradients && parameter.elements <= spec_.reduce_bucket_size) {
    recorder_.copy(UnitRecorder::compute, CopyRole::gradient_copy_in, parameter.ref.unit,
                   "to_bucket", bytes_of(parameter.elements) * 2);
    recorder_.release(parameter.gradient);
  } else {
    bucket_.loose.push_back(parameter.gradient);
    parameter.gradient.reset();
  }
  parameter.has_gradient = false;
  bucket_.elements += parameter.elements;
  bucket_.parameters.push_back(id);
}

void Zero12::copy(std::string_view operation, CopyRole role, Bytes bytes) {
  recorder_.program().launch(reduction_stream_, bucket_operation(operation, reduced_buckets_),
                             recorder_.workload().copy(role, root_unit, bytes, 1));
}

void Zero12::collective(CollectiveKind kind, std::string_view operation, std::int64_t elements) {
  std::vector<ParameterRef> parts;
  for (const std::size_t id : bucket_.parameters) parts.push_back(parameters_[id].ref);
  recorder_.program().launch(reduction_stream_, bucket_operation(operation, reduced_buckets_),
                             recorder_.workload().collective_of(CollectiveRole::bucket, parts,
                                                                {.kind = kind,
                                                                 .communicator = communicator_,
                                                                 .bytes = bytes_of(elements),
                                                                 .type = type_,
                                                                 .fixed_time = {},
                                                                 .cpu_cost = {}}));
}

void Zero12::reduce_bucket() {
  if (bucket_.parameters.empty()) return;
  if (overlaps_) {
    // Compute may go on when the reduction before this one has ended: it fills that one's buffer.
    recorder_.program().wait_stream(reduction_stream_, UnitRecorder::compute);
    recorder_.program().wait_stream(UnitRecorder::compute, reduction_stream_);
  }
  copy("divide", CopyRole::scale, bytes_of(bucket_.elements) * 2);
  if (!spec_.reduce_scatter) {
    all_reduce_whole();
  } else if (spec_.use_multi_rank_bucket_allreduce) {
    all_reduce_for_owners();
  } else {
    reduce_to_owners();
  }
  for (Buffer& gradient : bucket_.loose) {
    recorder_.record_stream(gradient, reduction_stream_);
    recorder_.release(gradient);
  }
  bucket_ = {};
  ++reduced_buckets_;
}

void Zero12::all_reduce_whole() {
  collective(CollectiveKind::all_reduce, "all_reduce", bucket_.elements);
  keep_own_part();
}

/// The slices of the bucket are flattened into a temporary, and every owner copies its own back.
void Zero12::all_reduce_for_owners() {
  const Bytes bytes = bytes_of(bucket_.elements);
  Buffer flat = recorder_.allocate(bytes, reduction_stream_, MemoryKind::communication_buffers,
                                   "flattened bucket");
  copy("flatten", CopyRole::concatenate, bytes * 2);
  collective(CollectiveKind::all_reduce, "all_reduce", bucket_.elements);
  keep_own_part();
  recorder_.release(flat);
}

/// Owners whose slices of the flat buffer the bucket touches, counted anew where parameters do not
/// follow each other.
std::int64_t Zero12::owners_of_bucket() const {
  const std::int64_t slice = flat_elements_ / ranks_;
  std::int64_t count = 0;
  std::int64_t previous = -1;
  for (const std::size_t id : bucket_.parameters) {
    const Parameter& parameter = parameters_[id];
    if (parameter.elements == 0) continue;
    const std::int64_t first = parameter.offset / slice;
    const std::int64_t last = (parameter.offset + parameter.elements - 1) / slice;
    count += last - first + 1;
    if (first == previous || last == previous) --count;
    previous = first;
  }
  return std::max<std::int64_t>(count, 1);
}

/// One reduce an owner, in equal parts; with a side stream the device is synchronised after each.
void Zero12::reduce_to_owners() {
  const std::int64_t owners = owners_of_bucket();
  for (std::int64_t i = 0; i < owners; ++i) {
    const std::int64_t elements =
        (i + 1) * bucket_.elements / owners - i * bucket_.elements / owners;
    collective(CollectiveKind::reduce, "reduce", elements);
    if (overlaps_) recorder_.program().synchronize_device();
  }
  keep_own_part();
}

void Zero12::keep_own_part() {
  if (!partition_) {
    partition_ = recorder_.allocate(bytes_of(flat_elements_ / ranks_), reduction_stream_,
                                    MemoryKind::gradients, "gradient partition");
  }
  copy("own_part", CopyRole::cast, bytes_of(divide_up(bucket_.elements, ranks_)) * 2);
}

void Zero12::finish_backward() {
  if (!reduces_now()) return;
  if (!reduces_in_backward()) {
    for (std::size_t id = 0; id < parameters_.size(); ++id) {
      if (parameters_[id].has_gradient) add_to_bucket(id);
    }
  }
  reduce_bucket();
  if (overlaps_) recorder_.program().synchronize_device();
  accumulate_partition();
  for (Buffer& buffer : buffers_) recorder_.release(buffer);
  buffers_.clear();
  reduced_buckets_ = 0;
}

void Zero12::accumulate_partition() {
  if (!has_averaged_) {
    averaged_ = partition_;
    partition_.reset();
    has_averaged_ = true;
    return;
  }
  recorder_.program().launch(UnitRecorder::compute, "accumulate",
                             recorder_.workload().copy(CopyRole::accumulate, root_unit,
                                                       bytes_of(flat_elements_ / ranks_) * 3, 1));
  recorder_.release(partition_);
}

void Zero12::optimizer_step() {
  optimizer_->step(communicator_, [this](std::size_t) { recorder_.release(averaged_); });
  has_averaged_ = false;
  std::vector<ParameterRef> all;
  for (const Parameter& parameter : parameters_) all.push_back(parameter.ref);
  recorder_.program().launch(UnitRecorder::compute, "parameters.all_gather",
                             recorder_.workload().collective_of(CollectiveRole::all_gather, all,
                                                                {.kind = CollectiveKind::all_gather,
                                                                 .communicator = communicator_,
                                                                 .bytes = bytes_of(flat_elements_),
                                                                 .type = type_,
                                                                 .fixed_time = {},
                                                                 .cpu_cost = {}}));
}

}  // namespace shardsim::training
