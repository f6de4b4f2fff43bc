// FSDP2's parameters: all-gather, copy-out, and freeing again.
#include <utility>

#include "models/training/fsdp2.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;

void Fsdp2::all_gather_streams_wait(cuda::EventId event) {
  recorder_.program().wait_event(copy_in_stream_, event);
  recorder_.program().wait_event(all_gather_stream_, event);
}

void Fsdp2::unshard(Unit& unit) {
  if (unit.all_gather_result || unit.unsharded) return;
  if (unit.reshard_after_forward_event) {
    all_gather_streams_wait(*std::exchange(unit.reshard_after_forward_event, std::nullopt));
  }
  const bool over_group = unit.sharded_over_group;
  Buffer output = copy_in(unit, over_group ? group_ranks_ : shard_ranks_);
  recorder_.program().wait_stream(all_gather_stream_, copy_in_stream_);
  recorder_.collective(all_gather_stream_, CollectiveRole::all_gather, unit.index, "all_gather",
                       {.kind = CollectiveKind::all_gather,
                        .communicator = over_group ? group_communicator_ : shard_communicator_,
                        .bytes = size_of(unit.sizes.padded_elements, compute_type_),
                        .type = compute_type_,
                        .fixed_time = {},
                        .cpu_cost = {}});
  unit.all_gather_result = {output, recorder_.program().record_event(all_gather_stream_)};
}

/// Casts the local shards if need be and copies them into this rank's slice of the all-gather's
/// output, which it allocates.
Buffer Fsdp2::copy_in(Unit& unit, std::int64_t ranks) {
  const std::int64_t shard = unit.sizes.padded_elements / ranks;
  const std::int64_t tensors = unit.sizes.tensors();
  const Bytes input = size_of(shard, compute_type_);
  Buffer from_host;
  if (spec_.cpu_offload && !unit.sharded_over_group) {
    const Bytes bytes = size_of(shard, master_type_);
    from_host = recorder_.allocate(bytes, copy_in_stream_, MemoryKind::communication_buffers,
                                   "shard from host");
    recorder_.host_copy(copy_in_stream_, unit.index, "host_to_device", bytes, tensors);
  }
  Buffer low_precision;
  if (compute_type_ != master_type_ && !unit.sharded_over_group) {
    low_precision = recorder_.allocate(input, copy_in_stream_, MemoryKind::communication_buffers,
                                       "low-precision shard");
    recorder_.copy(copy_in_stream_, CopyRole::cast, unit.index, "cast",
                   size_of(shard, master_type_) + input, tensors);
  }
  Buffer output =
      recorder_.allocate(size_of(unit.sizes.padded_elements, compute_type_), copy_in_stream_,
                         MemoryKind::communication_buffers, "all-gather output");
  recorder_.copy(copy_in_stream_, CopyRole::copy_in, unit.index, "all_gather_copy_in", input * 2,
                 tensors);
  recorder_.release(low_precision);
  recorder_.release(from_host);
  return output;
}

void Fsdp2::wait_for_unshard(Unit& unit, Phase phase) {
  if (!unit.all_gather_result) return;
  if (phase == Phase::forward) release_parked_all_gather();
  AllGatherResult result = *std::exchange(unit.all_gather_result, std::nullopt);
  recorder_.program().wait_event(UnitRecorder::compute, result.event);
  copy_out(unit);
  const cuda::EventId copied_out = recorder_.program().record_event(UnitRecorder::compute);
  if (phase == Phase::forward) {
    // Deferring the release lets this copy-out overlap the next all-gather.
    parked_all_gather_ = {result.output, copied_out};
  } else {
    all_gather_streams_wait(copied_out);
    recorder_.release(result.output);
  }
}

void Fsdp2::copy_out(Unit& unit) {
  for (const ShardedParameter& parameter : unit.sizes.parameters) {
    unit.parameters.push_back(recorder_.allocate(size_of(parameter.padded_elements, compute_type_),
                                                 UnitRecorder::compute,
                                                 MemoryKind::gathered_parameters, parameter.name));
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::copy_out, unit.index, "all_gather_copy_out",
                 size_of(unit.sizes.padded_elements, compute_type_) * 2, unit.sizes.tensors());
  unit.unsharded = true;
  unit.sharded_over_group = false;
  release_all(unit.group_slices);
}

void Fsdp2::release_parked_all_gather() {
  if (!parked_all_gather_) return;
  all_gather_streams_wait(parked_all_gather_->copy_out_event);
  recorder_.release(parked_all_gather_->output);
  parked_all_gather_.reset();
}

void Fsdp2::release_all(std::vector<Buffer>& buffers) {
  for (Buffer& buffer : buffers) recorder_.release(buffer);
  buffers.clear();
}

void Fsdp2::reshard(Unit& unit, Phase phase) {
  if (!unit.unsharded) return;
  if (phase == Phase::forward) {
    if (!unit.reshard_after_forward) return;
    if (unit.reshard_to_group) shard_over_group(unit);
  }
  release_all(unit.parameters);
  unit.unsharded = false;
}

/// Keeps this rank's slice over the smaller group, from which backward gathers.
void Fsdp2::shard_over_group(Unit& unit) {
  Bytes total;
  for (const ShardedParameter& parameter : unit.sizes.parameters) {
    const Bytes slice = size_of(parameter.padded_elements / group_ranks_, compute_type_);
    unit.group_slices.push_back(recorder_.allocate(
        slice, UnitRecorder::compute, MemoryKind::gathered_parameters, parameter.name));
    total += slice;
  }
  recorder_.copy(UnitRecorder::compute, CopyRole::cast, unit.index, "slice", total * 2,
                 unit.sizes.tensors());
  unit.sharded_over_group = true;
  unit.reshard_after_forward_event = recorder_.program().record_event(UnitRecorder::compute);
}

}  // namespace shardsim::training
