// ZeRO-3's gradients: the bucket, its reduce-scatter, and the partition that each rank keeps.
#include <string>

#include "models/training/operation_names.hpp"
#include "models/training/zero3.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;

void Zero3::copy(std::string_view operation, CopyRole role, Bytes bytes) {
  recorder_.program().launch(
      reduce_stream_, bucket_operation(operation, reduced_buckets_),
      recorder_.workload().copy(role, root_unit, bytes,
                                static_cast<std::int64_t>(bucket_.parameters.size())));
}

void Zero3::gradient_ready(const Gradient& gradient) {
  const ParameterId id =
      first_of_unit_[static_cast<std::size_t>(gradient.unit + 1)] + gradient.parameter;
  const std::int64_t elements = parameters_[id].elements;
  if (bucket_.elements + elements > spec_.reduce_bucket_size) reduce_bucket();
  if (reduce_stream_ != UnitRecorder::compute) {
    recorder_.program().wait_stream(reduce_stream_, UnitRecorder::compute);
  }
  Buffer fresh = gradient.tensor;
  recorder_.record_stream(fresh, reduce_stream_);
  if (spec_.contiguous_gradients && elements <= spec_.reduce_bucket_size) {
    recorder_.copy(reduce_stream_, CopyRole::gradient_copy_in, gradient.unit, "to_bucket",
                   bytes_of(elements) * 2);
    recorder_.release(fresh);
  } else {
    bucket_.loose.push_back(fresh);
  }
  bucket_.elements += elements;
  bucket_.parameters.push_back(id);
}

/// The gradients' partitions are interleaved so that each rank receives its own of every one.
void Zero3::reduce_bucket() {
  if (bucket_.parameters.empty()) return;
  bound_in_flight(reduce_events_, "reduce");
  std::int64_t own = 0;
  std::vector<ParameterRef> parts;
  for (const ParameterId id : bucket_.parameters) {
    own += parameters_[id].partition;
    parts.push_back(parameters_[id].ref);
  }
  const std::int64_t elements = spec_.reduce_scatter ? own * ranks_ : bucket_.elements;
  const bool in_place =
      !spec_.reduce_scatter || (parts.size() == 1 && own * ranks_ == bucket_.elements);
  Buffer interleaved;
  if (!in_place) {
    interleaved = recorder_.allocate(bytes_of(elements), reduce_stream_,
                                     MemoryKind::communication_buffers, "interleaved gradients");
    copy("interleave", CopyRole::concatenate, bytes_of(bucket_.elements + elements));
  }
  copy("divide", CopyRole::scale, bytes_of(elements) * 2);
  recorder_.program().launch(
      reduce_stream_,
      bucket_operation(spec_.reduce_scatter ? "reduce_scatter" : "all_reduce", reduced_buckets_),
      recorder_.workload().collective_of(
          spec_.reduce_scatter ? CollectiveRole::reduce_scatter : CollectiveRole::bucket, parts,
          {.kind =
               spec_.reduce_scatter ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
           .communicator = communicator_,
           .bytes = bytes_of(elements),
           .type = type_,
           .fixed_time = {},
           .cpu_cost = {}}));
  copy("keep_partition", has_gradients_ ? CopyRole::accumulate : CopyRole::cast,
       bytes_of(own) * (has_gradients_ ? 3 : 2));
  recorder_.release(interleaved);
  for (Buffer& gradient : bucket_.loose) recorder_.release(gradient);
  reduce_events_.push_back(recorder_.program().record_event(reduce_stream_));
  bucket_ = {};
  ++reduced_buckets_;
}

/// The epilogue reduces the rest and blocks the CPU until all reductions have ended.
void Zero3::finish_backward() {
  reduce_bucket();
  recorder_.program().synchronize_event(recorder_.program().record_event(reduce_stream_),
                                        "end of reductions");
  coordinator_->end_micro_batch();
  gathers_.clear();
  reduced_buckets_ = 0;
  has_gradients_ = true;
}

}  // namespace shardsim::training
