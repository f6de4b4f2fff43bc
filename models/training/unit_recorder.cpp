#include "models/training/unit_recorder.hpp"

namespace shardsim::training {

namespace {

/// FSDP2 launches these whatever their size; the others exist only where there is something to do.
bool always_launched(CopyRole role) {
  return role == CopyRole::copy_in || role == CopyRole::copy_out ||
         role == CopyRole::gradient_copy_in;
}

}  // namespace

Buffer UnitRecorder::allocate(simcore::Bytes bytes, cuda::StreamId stream, cuda::MemoryKind kind,
                              std::string_view name) {
  if (bytes.count == 0) return std::nullopt;
  return program_.allocate(bytes, stream, kind, name);
}

void UnitRecorder::release(Buffer& buffer) {
  if (buffer) program_.free(*buffer);
  buffer.reset();
}

void UnitRecorder::record_stream(const Buffer& buffer, cuda::StreamId stream) {
  if (buffer) program_.record_stream(*buffer, stream);
}

void UnitRecorder::copy(cuda::StreamId stream, CopyRole role, int unit, std::string_view operation,
                        simcore::Bytes bytes, std::int64_t tensors) {
  if (bytes.count == 0 && !always_launched(role)) return;
  program_.launch(stream, workload_.unit_operation(operation, unit),
                  workload_.copy(role, unit, bytes, tensors));
}

void UnitRecorder::host_copy(cuda::StreamId stream, int unit, std::string_view operation,
                             simcore::Bytes bytes, std::int64_t tensors) {
  program_.launch(stream, workload_.unit_operation(operation, unit),
                  workload_.host_copy(bytes, tensors));
}

void UnitRecorder::hold_shard_on_host(simcore::Bytes bytes) {
  for (const auto kind : {cuda::MemoryKind::parameters, cuda::MemoryKind::gradients}) {
    program_.hold_on_host(bytes, kind, cuda::HostPages::pinned);
  }
}

void UnitRecorder::collective(cuda::StreamId stream, CollectiveRole role, int unit,
                              std::string_view operation, const cuda::CollectiveSpec& spec) {
  program_.launch(stream, workload_.unit_operation(operation, unit),
                  workload_.collective(role, unit, spec));
}

void UnitRecorder::hooks() { program_.cpu_work(workload_.hook_cost()); }

}  // namespace shardsim::training
