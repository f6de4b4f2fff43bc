#include "models/scenario/kineto_trace.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include <fmt/format.h>

#include "models/scenario/step_analysis.hpp"
#include "simcore/output/chrome_trace.hpp"

namespace shardsim::scenario {

using cuda::CollectiveKind;
using cuda::OpCode;
using simcore::JsonStream;
using simcore::SimTime;
using simcore::TraceSlice;
using simcore::TraceTrack;

namespace {

/// Names of element types as NCCL's kernels and PyTorch's profiler spell them.
struct TypeNames {
  const char* nccl;
  const char* torch;
};

TypeNames type_names(gpu::DataType type) {
  switch (type) {
    case gpu::DataType::bf16:
      return {"bf16", "BFloat16"};
    case gpu::DataType::fp16:
      return {"f16", "Half"};
    case gpu::DataType::fp8:
      return {"u8", "Float8_e4m3fn"};
    case gpu::DataType::fp32:
    case gpu::DataType::tf32:
      break;
  }
  return {"f32", "Float"};
}

/// The device function that NCCL launches; its suffix does not tell the algorithm.
std::string nccl_kernel(const cuda::CollectiveSpec& spec) {
  const char* type = type_names(spec.type).nccl;
  constexpr const char* arguments = "(ncclDevKernelArgsStorage<4096ul>)";
  switch (spec.kind) {
    case CollectiveKind::all_gather:
      return fmt::format("ncclDevKernel_AllGather_RING_LL{}", arguments);
    case CollectiveKind::reduce_scatter:
      return fmt::format("ncclDevKernel_ReduceScatter_Sum_{}_RING_LL{}", type, arguments);
    case CollectiveKind::all_reduce:
      return fmt::format("ncclDevKernel_AllReduce_Sum_{}_RING_LL{}", type, arguments);
    case CollectiveKind::broadcast:
      return fmt::format("ncclDevKernel_Broadcast_RING_LL{}", arguments);
    case CollectiveKind::reduce:
      return fmt::format("ncclDevKernel_Reduce_Sum_{}_RING_LL{}", type, arguments);
    case CollectiveKind::alltoall:
    case CollectiveKind::sendrecv:
      break;
  }
  return fmt::format("ncclDevKernel_SendRecv{}", arguments);
}

/// What ProcessGroupNCCL calls the operation.
const char* torch_collective(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "_allgather_base";
    case CollectiveKind::reduce_scatter:
      return "_reduce_scatter_base";
    case CollectiveKind::all_reduce:
      return "allreduce";
    default:
      return collective_name(kind);
  }
}

class KinetoTrace {
 public:
  KinetoTrace(std::ostream& out, const Experiment& experiment, const StepLog& log, int rank)
      : writer_(out),
        experiment_(experiment),
        log_(log),
        rank_(rank),
        device_(experiment.graph.local_index(rank)),
        cpu_{1000 + rank, 1000 + rank} {}

  void write() {
    write_header();
    name_tracks();
    writer_.slice(
        TraceSlice{cpu_, step_name(), "user_annotation", log_.begin, log_.end - log_.begin});
    const cuda::Program& program = *log_.program;
    for (std::uint32_t op = log_.first_op; op <= log_.last_op; ++op) {
      if (!log_.ran(op)) continue;
      write_launch(op);
      if (program.ops[op].code == OpCode::collective) {
        write_collective(op);
      } else {
        write_kernel(op);
      }
    }
    for (const cuda::CpuWaitRecord& wait : log_.cpu_waits) {
      const char* call = "cudaEventSynchronize";
      if (program.ops[wait.op].code == OpCode::device_synchronize) call = "cudaDeviceSynchronize";
      if (program.ops[wait.op].code == OpCode::allocate) call = "cudaFree";
      writer_.slice(TraceSlice{cpu_, call, "cuda_runtime", wait.from, wait.to - wait.from});
    }
    writer_.finish();
  }

 private:
  std::string step_name() const { return fmt::format("ProfilerStep#{}", log_.step); }
  TraceTrack stream_track(cuda::StreamId stream) const {
    return TraceTrack{device_, stream_number(stream)};
  }
  /// PyTorch's default stream shows as 7; side streams come in steps of four from 20 on.
  static std::int64_t stream_number(cuda::StreamId stream) {
    return stream == 0 ? 7 : 16 + 4 * std::int64_t{stream};
  }

  void write_header() {
    writer_.header("schemaVersion").value(1);
    JsonStream& devices = writer_.header("deviceProperties");
    devices.begin_array();
    devices.begin_object();
    devices.member("id", device_);
    devices.member("name", std::string_view(experiment_.gpu.name));
    devices.member("totalGlobalMem", experiment_.gpu.memory.capacity.count);
    devices.member("numSms", experiment_.gpu.sms);
    devices.end_object();
    devices.end_array();
    JsonStream& distributed = writer_.header("distributedInfo");
    distributed.begin_object();
    distributed.member("backend", "nccl");
    distributed.member("rank", rank_);
    distributed.member("world_size", static_cast<int>(experiment_.gpus.size()));
    distributed.end_object();
  }

  void name_tracks() {
    writer_.process_name(cpu_.process, "python");
    writer_.process_labels(cpu_.process, "CPU");
    writer_.process_sort_index(cpu_.process, cpu_.process);
    writer_.thread_name(cpu_, fmt::format("rank {}", rank_));
    writer_.process_name(device_, "python");
    writer_.process_labels(device_, fmt::format("GPU {}", device_));
    writer_.process_sort_index(device_, 5'000'000 + device_);
    for (std::size_t stream = 0; stream < log_.program->streams.size(); ++stream) {
      const TraceTrack track = stream_track(static_cast<cuda::StreamId>(stream));
      writer_.thread_name(
          track, fmt::format("stream {} {}", track.thread, log_.program->streams[stream].name));
      writer_.thread_sort_index(track, track.thread);
    }
  }

  std::int64_t correlation(std::uint32_t op) const { return std::int64_t{op} + 1; }

  SimTime cpu_cost(std::uint32_t op) const {
    const cuda::Op& entry = log_.program->ops[op];
    if (entry.code == OpCode::collective) return log_.program->collectives[entry.index].cpu_cost;
    const cuda::KernelSpec& kernel = log_.program->kernels[entry.index];
    const auto* work = std::get_if<gpu::MemoryBoundWork>(&kernel.work);
    const int launches = work != nullptr ? std::max(1, work->launches) : 1;
    return SimTime::picoseconds(kernel.cpu_cost.picoseconds() / launches);
  }

  void write_launch(std::uint32_t op) {
    const cuda::OpRecord& record = log_.record(op);
    const SimTime cost = cpu_cost(op);
    writer_.slice(
        TraceSlice{cpu_, "cudaLaunchKernel", "cuda_runtime", record.cpu_issue - cost, cost},
        [&](JsonStream& arguments) {
          arguments.member("External id", correlation(op));
          arguments.member("correlation", correlation(op));
        });
    const auto id = static_cast<std::uint64_t>(correlation(op));
    writer_.flow_start({.id = id, .track = cpu_, .time = record.cpu_issue - cost});
    writer_.flow_finish(
        {.id = id, .track = stream_track(log_.program->ops[op].stream), .time = record.start});
  }

  void write_common(JsonStream& arguments, std::uint32_t op) const {
    arguments.member("External id", correlation(op));
    arguments.member("device", device_);
    arguments.member("context", 1);
    arguments.member("stream", stream_number(log_.program->ops[op].stream));
    arguments.member("correlation", correlation(op));
  }

  void write_kernel(std::uint32_t op) {
    const cuda::Op& entry = log_.program->ops[op];
    const cuda::OpRecord& record = log_.record(op);
    const cuda::KernelSpec& kernel = log_.program->kernels[entry.index];
    writer_.slice(TraceSlice{stream_track(entry.stream), log_.program->names[entry.name], "kernel",
                             record.start, record.end - record.start},
                  [&](JsonStream& arguments) {
                    write_common(arguments, op);
                    arguments.member("category", category_name(kernel.category));
                    if (kernel.recompute) arguments.member("recompute", true);
                  });
  }

  void write_collective(std::uint32_t op) {
    const cuda::Op& entry = log_.program->ops[op];
    const cuda::OpRecord& record = log_.record(op);
    const cuda::CollectiveSpec& spec = log_.program->collectives[entry.index];
    const std::vector<int>& ranks = group_of(spec.communicator);
    const std::int64_t elements = spec.bytes.count / gpu::bytes_per_element(spec.type);
    const auto size = static_cast<std::int64_t>(ranks.size());
    const bool gathers = spec.kind == CollectiveKind::all_gather;
    const bool scatters = spec.kind == CollectiveKind::reduce_scatter;
    const std::string name = nccl_kernel(spec);
    writer_.slice(
        TraceSlice{stream_track(entry.stream), name, "kernel", record.start,
                   record.end - record.start},
        [&](JsonStream& arguments) {
          write_common(arguments, op);
          arguments.member("Collective name", torch_collective(spec.kind));
          arguments.member("In msg nelems", gathers ? elements / size : elements);
          arguments.member("Out msg nelems", scatters ? elements / size : elements);
          arguments.member("Group size", size);
          arguments.member("dtype", type_names(spec.type).torch);
          arguments.member("Process Group Name",
                           std::string_view(std::to_string(spec.communicator)));
          arguments.member("Process Group Description",
                           std::string_view(log_.program->communicators[spec.communicator]));
          arguments.member("Process Group Ranks", std::string_view(list_of(ranks)));
          arguments.member("operation", std::string_view(log_.program->names[entry.name]));
        });
  }

  /// The ranks that `rank_` meets on a communicator.
  const std::vector<int>& group_of(cuda::CommunicatorId id) const {
    const std::uint32_t instance = experiment_.layout.memberships[log_.slot][id].instance;
    const auto& groups = experiment_.layout.communicators[instance].groups;
    for (const std::vector<int>& group : groups) {
      if (std::find(group.begin(), group.end(), rank_) != group.end()) return group;
    }
    return groups.front();
  }

  /// "[0, 1, 2]"; Kineto shortens long lists, too.
  static std::string list_of(const std::vector<int>& ranks) {
    constexpr std::size_t most = 30;
    std::string text = "[";
    for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    }
    return text + (ranks.size() > most ? ", ...]" : "]");
  }

  simcore::ChromeTraceWriter writer_;
  const Experiment& experiment_;
  const StepLog& log_;
  int rank_;
  int device_;
  TraceTrack cpu_;
};

}  // namespace

void write_kineto_trace(std::ostream& out, const Experiment& experiment,
                        const std::vector<StepLog>& logs, int rank) {
  const StepLog* log = &logs.front();
  for (const StepLog& one : logs) {
    if (one.slot == experiment.layout.slot_of_rank[static_cast<std::size_t>(rank)]) log = &one;
  }
  KinetoTrace(out, experiment, *log, rank).write();
}

}  // namespace shardsim::scenario
