// FSDP2's gradients: copy-in, reduce-scatter, all-reduce across replicas, and where they stay.
#include <utility>

#include "models/training/fsdp2.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;

/// Gradients of this backward join those kept from earlier ones: autograd adds in place.
void Fsdp2::collect_gradients(Unit& unit) {
  // Of the root, those that are there belong to the part that has just ended.
  const int source = unit.index < 0 ? root_unit : unit.index;
  std::vector<Gradient> fresh = recorder_.workload().take_gradients(source);
  const gpu::DataType kept_type = unit.gradients_widened ? reduce_type_ : compute_type_;
  if (!unit.gradients.empty()) {
    const std::int64_t elements = unit.sizes.padded_elements;
    recorder_.copy(UnitRecorder::compute, CopyRole::accumulate, unit.index, "accumulate",
                   size_of(elements, kept_type) * 2 + size_of(elements, compute_type_),
                   static_cast<std::int64_t>(fresh.size()));
    for (Gradient& gradient : fresh) recorder_.program().free(gradient.tensor);
    return;
  }
  for (const Gradient& gradient : fresh) unit.gradients.emplace_back(gradient.tensor);
}

/// Without gradient sync the unsharded gradients stay, widened to the reduction's type.
void Fsdp2::keep_gradients(Unit& unit) {
  if (unit.gradients_widened || reduce_type_ == compute_type_) return;
  std::vector<Buffer> widened;
  for (const ShardedParameter& parameter : unit.sizes.parameters) {
    widened.push_back(recorder_.allocate(size_of(parameter.elements, reduce_type_),
                                         UnitRecorder::compute, MemoryKind::gradients,
                                         parameter.name + ".grad"));
  }
  const std::int64_t elements = unit.sizes.padded_elements;
  recorder_.copy(UnitRecorder::compute, CopyRole::cast, unit.index, "cast_grad",
                 size_of(elements, compute_type_) + size_of(elements, reduce_type_),
                 unit.sizes.tensors());
  release_all(unit.gradients);
  unit.gradients = std::move(widened);
  unit.gradients_widened = true;
}

/// Bounds the reduce-scatter inputs to one outstanding.
void Fsdp2::wait_for_reduce_scatter() {
  if (!reduce_scatter_state_) return;
  recorder_.program().wait_event(UnitRecorder::compute, reduce_scatter_state_->event);
  recorder_.release(reduce_scatter_state_->input);
  reduce_scatter_state_.reset();
}

/// foreach_reduce: copy-in, reduce-scatter, all-reduce across replicas, store.
void Fsdp2::reduce_gradients(Unit& unit) {
  cuda::ProgramRecorder& program = recorder_.program();
  ReduceScatterState state = gradient_copy_in(unit);
  program.wait_stream(reduce_scatter_stream_, UnitRecorder::compute);
  const std::int64_t padded = unit.sizes.padded_elements;
  const std::int64_t shard = unit.sizes.shard_elements;
  if (divides_explicitly()) {
    recorder_.copy(reduce_scatter_stream_, CopyRole::scale, unit.index, "predivide",
                   size_of(padded, reduce_type_) * 2);
  }
  const bool becomes_gradient = reduce_type_ == master_type_ && !unit.sharded_gradient;
  Buffer reduced = recorder_.allocate(
      size_of(shard, reduce_type_), reduce_scatter_stream_,
      becomes_gradient ? MemoryKind::gradients : MemoryKind::communication_buffers,
      "reduce-scatter output");
  recorder_.collective(reduce_scatter_stream_, CollectiveRole::reduce_scatter, unit.index,
                       "reduce_scatter",
                       {.kind = CollectiveKind::reduce_scatter,
                        .communicator = reduce_communicator_,
                        .bytes = size_of(padded, reduce_type_),
                        .type = reduce_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  state.event = program.record_event(reduce_scatter_stream_);
  reduce_scatter_state_ = state;

  cuda::StreamId stream = reduce_scatter_stream_;
  if (replicas_ > 1) {
    reduced = all_reduce(unit, reduced);
    if (micro_batch_.all_reduce) stream = all_reduce_stream_;
  }
  if (replicas_ == 1 || micro_batch_.all_reduce) store_sharded_gradient(unit, stream, reduced);
  unit.post_reduce_event = program.record_event(stream);
}

/// Chunk-concatenates the gradients into the reduce-scatter's input and drops them.
Fsdp2::ReduceScatterState Fsdp2::gradient_copy_in(Unit& unit) {
  const std::int64_t padded = unit.sizes.padded_elements;
  const gpu::DataType gradient_type = unit.gradients_widened ? reduce_type_ : compute_type_;
  const Bytes input_bytes = size_of(padded, reduce_type_);
  Buffer input = recorder_.allocate(input_bytes, UnitRecorder::compute,
                                    MemoryKind::communication_buffers, "reduce-scatter input");
  // A narrowing cast cannot write through the chunked views; it goes through a copy.
  Buffer unnarrowed;
  if (input_bytes < size_of(padded, gradient_type)) {
    unnarrowed = recorder_.allocate(size_of(padded, gradient_type), UnitRecorder::compute,
                                    MemoryKind::communication_buffers, "gradient copy");
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::gradient_copy_in, unit.index,
                 "reduce_scatter_copy_in", size_of(padded, gradient_type) + input_bytes,
                 unit.sizes.tensors());
  recorder_.release(unnarrowed);
  release_all(unit.gradients);
  unit.gradients_widened = false;
  return {input, 0};
}

/// Hybrid sharding. Returns the buffer that goes on; a partial sum waits in the unit.
Buffer Fsdp2::all_reduce(Unit& unit, Buffer reduced) {
  const std::int64_t shard = unit.sizes.shard_elements;
  if (unit.partial_reduce_output) {
    recorder_.copy(reduce_scatter_stream_, CopyRole::accumulate, unit.index, "accumulate",
                   size_of(shard, reduce_type_) * 3);
  }
  if (!micro_batch_.all_reduce) {
    if (unit.partial_reduce_output) {
      recorder_.release(reduced);
    } else {
      unit.partial_reduce_output = reduced;
    }
    return std::nullopt;
  }
  recorder_.release(unit.partial_reduce_output);
  recorder_.program().wait_stream(all_reduce_stream_, reduce_scatter_stream_);
  recorder_.collective(all_reduce_stream_, CollectiveRole::all_reduce, unit.index, "all_reduce",
                       {.kind = CollectiveKind::all_reduce,
                        .communicator = replica_communicator_,
                        .bytes = size_of(shard, reduce_type_),
                        .type = reduce_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  return reduced;
}

/// The reduced shard becomes, or is added to, the gradient that the optimizer reads.
void Fsdp2::store_sharded_gradient(Unit& unit, cuda::StreamId stream, Buffer reduced) {
  const std::int64_t shard = unit.sizes.shard_elements;
  const Bytes reduced_bytes = size_of(shard, reduce_type_);
  const Bytes gradient_bytes = size_of(shard, master_type_);
  if (divides_explicitly()) {
    recorder_.copy(stream, CopyRole::scale, unit.index, "postdivide", reduced_bytes * 2);
  }
  Buffer gradient = reduced;
  if (reduce_type_ != master_type_) {
    gradient = recorder_.allocate(
        gradient_bytes, stream,
        unit.sharded_gradient ? MemoryKind::communication_buffers : MemoryKind::gradients,
        "sharded gradient");
    recorder_.copy(stream, CopyRole::cast, unit.index, "cast_grad", reduced_bytes + gradient_bytes);
  }
  if (spec_.cpu_offload) {
    const bool cast = reduce_type_ != master_type_;
    if (cast && replicas_ > 1) unit.all_reduce_input = std::exchange(reduced, std::nullopt);
    offload_gradient(unit, stream, gradient);
    if (cast) recorder_.release(reduced);
    return;
  }
  if (unit.sharded_gradient) {
    recorder_.copy(stream, CopyRole::accumulate, unit.index, "accumulate", gradient_bytes * 3,
                   unit.sizes.tensors());
  }
  // The all-reduce's buffer belongs to another stream's pool: it lives until backward ends.
  const bool is_gradient = gradient == reduced && !unit.sharded_gradient;
  if (replicas_ > 1 && !is_gradient) {
    unit.all_reduce_input = reduced;
    reduced.reset();
  }
  if (!unit.sharded_gradient) {
    unit.sharded_gradient = gradient;
  } else if (reduce_type_ != master_type_) {
    recorder_.release(gradient);
  }
  if (!is_gradient) recorder_.release(reduced);
}

/// Copies the shard's gradient to the host. If it has to be added to one that is there, the CPU
/// waits for it (the addition itself is left out).
void Fsdp2::offload_gradient(Unit& unit, cuda::StreamId stream, Buffer gradient) {
  cuda::ProgramRecorder& program = recorder_.program();
  recorder_.host_copy(stream, unit.index, "device_to_host",
                      size_of(unit.sizes.shard_elements, master_type_), unit.sizes.tensors());
  const cuda::EventId copied = program.record_event(stream);
  if (unit.host_gradient) {
    program.synchronize_event(copied, "gradient offload");
  } else {
    unit.offload_event = copied;
  }
  unit.host_gradient = true;
  recorder_.release(gradient);
}

}  // namespace shardsim::training
