// FSDP1's gradients: flat gradient, reduction, and where they stay.
#include <utility>

#include "models/training/fsdp1.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;

/// The backward of the views into the flat parameter concatenates the gradients; autograd adds the
/// result to one that is there already.
void Fsdp1::collect_gradient(Unit& unit) {
  const std::int64_t elements = unit.sizes.elements;
  const Bytes bytes = size_of(elements, compute_type_);
  Buffer flat =
      recorder_.allocate(bytes, UnitRecorder::compute, MemoryKind::gradients, "flat gradient");
  recorder_.copy(UnitRecorder::compute, CopyRole::concatenate, unit.index, "cat", bytes * 2,
                 unit.sizes.tensors);
  for (const cuda::TensorId gradient : take_gradients(unit)) recorder_.program().free(gradient);
  if (!unit.unsharded_gradient) {
    unit.unsharded_gradient = flat;
    unit.unsharded_gradient_type = compute_type_;
    return;
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::accumulate, unit.index, "accumulate",
                 bytes + size_of(elements, unit.unsharded_gradient_type) * 2);
  recorder_.release(flat);
}

void Fsdp1::reduce_gradient(Unit& unit) {
  recorder_.program().wait_stream(post_backward_stream_, UnitRecorder::compute);
  Buffer computed = std::exchange(unit.unsharded_gradient, std::nullopt);
  Buffer gradient = computed;
  const std::int64_t elements = unit.sizes.elements;
  const bool casts = unit.unsharded_gradient_type != reduce_type_;
  if (casts) {
    const Bytes bytes = size_of(elements, reduce_type_);
    gradient =
        recorder_.allocate(bytes, post_backward_stream_,
                           sharded_ ? MemoryKind::communication_buffers : MemoryKind::gradients,
                           "gradient in reduce dtype");
    recorder_.copy(post_backward_stream_, CopyRole::cast, unit.index, "cast_grad",
                   bytes + size_of(elements, unit.unsharded_gradient_type));
  }
  if (sharded_) {
    reduce_scatter(unit, gradient);
  } else {
    reduce_whole(unit, gradient);
  }
  if (unit.unsharded_gradient == computed) return;  // reduced in place
  if (casts && unit.unsharded_gradient != gradient) recorder_.release(gradient);
  recorder_.record_stream(computed, post_backward_stream_);
  recorder_.release(computed);
}

void Fsdp1::divide(cuda::StreamId stream, const Unit& unit, std::int64_t elements,
                   std::int64_t factor, const char* name) {
  if (factor == 1) return;
  recorder_.copy(stream, CopyRole::scale, unit.index, name, size_of(elements, reduce_type_) * 2);
}

void Fsdp1::reduce_scatter(Unit& unit, const Buffer& gradient) {
  const FlatUnit& sizes = unit.sizes;
  const Bytes input = size_of(sizes.padded_elements, reduce_type_);
  Buffer padded;
  if (sizes.elements != sizes.padded_elements && gradient) {
    padded = recorder_.allocate(input, post_backward_stream_, MemoryKind::communication_buffers,
                                "padded gradient");
    recorder_.copy(post_backward_stream_, CopyRole::cast, unit.index, "pad",
                   input + size_of(sizes.elements, reduce_type_));
  }
  const bool becomes_gradient = reduce_type_ == master_type_ && !unit.sharded_gradient;
  Buffer reduced = recorder_.allocate(
      size_of(sizes.shard_elements, reduce_type_), post_backward_stream_,
      becomes_gradient ? MemoryKind::gradients : MemoryKind::communication_buffers,
      "reduce-scatter output");
  divide(post_backward_stream_, unit, sizes.padded_elements, predivide_, "predivide");
  recorder_.collective(post_backward_stream_, CollectiveRole::reduce_scatter, unit.index,
                       "reduce_scatter",
                       {.kind = CollectiveKind::reduce_scatter,
                        .communicator = shard_communicator_,
                        .bytes = input,
                        .type = reduce_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  cuda::StreamId stream = post_backward_stream_;
  if (is_hybrid()) {
    stream = all_reduce_stream_;
    recorder_.program().wait_stream(all_reduce_stream_, post_backward_stream_);
    recorder_.record_stream(reduced, all_reduce_stream_);
    recorder_.collective(all_reduce_stream_, CollectiveRole::all_reduce, unit.index, "all_reduce",
                         {.kind = CollectiveKind::all_reduce,
                          .communicator = replica_communicator_,
                          .bytes = size_of(sizes.shard_elements, reduce_type_),
                          .type = reduce_type_,
                          .fixed_time = {},
                          .cpu_cost = {}});
  }
  divide(stream, unit, sizes.shard_elements, postdivide_, "postdivide");
  store_gradient(unit, stream, reduced);
  recorder_.release(padded);
}

/// The reduced shard becomes, or is added to, the gradient that the optimizer reads.
void Fsdp1::store_gradient(Unit& unit, cuda::StreamId stream, Buffer reduced) {
  const std::int64_t shard = unit.sizes.shard_elements;
  const Bytes bytes = size_of(shard, master_type_);
  if (reduce_type_ != master_type_) {
    Buffer low_precision = reduced;
    reduced = recorder_.allocate(
        bytes, stream,
        unit.sharded_gradient ? MemoryKind::communication_buffers : MemoryKind::gradients,
        "sharded gradient");
    recorder_.copy(stream, CopyRole::cast, unit.index, "cast_grad",
                   bytes + size_of(shard, reduce_type_));
    recorder_.record_stream(low_precision, stream);
    recorder_.release(low_precision);
  }
  if (spec_.cpu_offload) recorder_.host_copy(stream, unit.index, "device_to_host", bytes);
  if (!unit.sharded_gradient) {
    unit.sharded_gradient = reduced;
    return;
  }
  recorder_.copy(stream, CopyRole::accumulate, unit.index, "accumulate", bytes * 3);
  recorder_.release(reduced);
}

/// no_shard: all-reduces the whole flat gradient, in place where its type allows.
void Fsdp1::reduce_whole(Unit& unit, Buffer gradient) {
  const std::int64_t elements = unit.sizes.elements;
  divide(post_backward_stream_, unit, elements, predivide_, "predivide");
  recorder_.collective(post_backward_stream_, CollectiveRole::all_reduce, unit.index, "all_reduce",
                       {.kind = CollectiveKind::all_reduce,
                        .communicator = shard_communicator_,
                        .bytes = size_of(elements, reduce_type_),
                        .type = reduce_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  divide(post_backward_stream_, unit, elements, postdivide_, "postdivide");
  if (reduce_type_ != master_type_) {
    const Bytes bytes = size_of(elements, master_type_);
    gradient =
        recorder_.allocate(bytes, post_backward_stream_, MemoryKind::gradients, "flat gradient");
    recorder_.copy(post_backward_stream_, CopyRole::cast, unit.index, "cast_grad",
                   bytes + size_of(elements, reduce_type_));
  }
  if (spec_.cpu_offload) {
    recorder_.host_copy(post_backward_stream_, unit.index, "device_to_host",
                        size_of(elements, master_type_));
  }
  unit.unsharded_gradient = gradient;
  unit.unsharded_gradient_type = master_type_;
}

}  // namespace shardsim::training
