// Records a program: the CUDA calls that a training framework would make, in its order.
//
// The functions carry the names of the calls they stand for, so that a strategy reads like the
// framework code it describes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/cuda/distinct_index.hpp"
#include "models/cuda/program.hpp"

namespace shardsim::cuda {

/// Pinned pages are those that the GPU copies from and to by itself.
enum class HostPages : std::uint8_t { pageable, pinned };

class ProgramRecorder {
 public:
  /// Creates the compute stream, number 0, named "compute".
  ProgramRecorder();

  static constexpr StreamId compute_stream = 0;
  StreamId create_stream(std::string_view name, int priority = 0);
  CommunicatorId create_communicator(std::string_view role);

  void launch(StreamId stream, std::string_view name, const KernelSpec& kernel);
  void launch(StreamId stream, std::string_view name, const CollectiveSpec& collective);

  /// Event at the stream's present tail; complete when all work issued to it so far is.
  EventId record_event(StreamId stream);
  void wait_event(StreamId stream, EventId event);
  /// `waiting` waits for everything issued to `awaited` so far.
  void wait_stream(StreamId waiting, StreamId awaited);
  /// The CPU blocks until the event is complete; `name` says in reports what it waited for.
  void synchronize_event(EventId event, std::string_view name = {});
  void synchronize_device();

  TensorId allocate(simcore::Bytes bytes, StreamId stream, MemoryKind kind, std::string_view name);
  void free(TensorId tensor);
  void record_stream(TensorId tensor, StreamId stream);

  void cpu_work(simcore::SimTime time, CpuWorkKind kind = CpuWorkKind::issue);

  /// Host memory that the rank takes once and keeps, or takes anew in every step: of pinned memory
  /// the block that PyTorch's allocator makes of it.
  void hold_on_host(simcore::Bytes bytes, MemoryKind kind, HostPages pages);

  void begin_step();
  /// Ends the step with a device synchronisation, as reading the loss does.
  void end_step();

  /// The finished program; the recorder is empty afterwards.
  Program finish();

 private:
  NameId intern(std::string_view name);
  void emit(OpCode code, StreamId stream, TableIndex index, NameId name = 0);

  Program program_;
  DistinctIndex name_ids_;
  DistinctIndex kernel_ids_;
  DistinctIndex collective_ids_;
  DistinctIndex allocation_ids_;
  std::vector<TensorId> free_tensors_;
};

}  // namespace shardsim::cuda
