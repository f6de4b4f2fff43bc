#include "models/training/zero3.hpp"

#include <string>

#include "simcore/integer.hpp"

namespace shardsim::training {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using simcore::Bytes;
using simcore::divide_up;

namespace {

/// max_ongoing_fetch_events and max_param_reduce_events of DeepSpeed.
constexpr std::size_t max_events_in_flight = 2;

}  // namespace

Zero3::Zero3(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder)
    : spec_(spec.zero),
      recorder_(recorder),
      type_(recorder.workload().compute_type()),
      ranks_(groups.world) {
  cuda::ProgramRecorder& program = recorder_.program();
  communicator_ = program.create_communicator("shard");
  nccl_stream_ = program.create_stream("nccl");
  if (spec_.overlaps(true)) {
    gather_stream_ = program.create_stream("allgather");
    reduce_stream_ = program.create_stream("reduce");
  }
  create_parameters();
  optimizer_.emplace(spec, sub_groups(), recorder_);
  Workload& model = recorder_.workload();
  model.set_module_hook([this](const ModulePass& pass) { at_module(pass); });
  model.set_gradient_hook(
      [this](cuda::ProgramRecorder&, const Gradient& gradient) { gradient_ready(gradient); });
}

Zero3::~Zero3() {
  recorder_.workload().set_module_hook({});
  recorder_.workload().set_gradient_hook({});
}

void Zero3::create_parameters() {
  const Workload& model = recorder_.workload();
  std::vector<CoordinatedParameter> coordinated;
  std::int64_t persistent = 0;
  for (int unit = root_unit; unit < model.blocks(); ++unit) {
    first_of_unit_.push_back(parameters_.size());
    const std::vector<ParameterShape>& shapes = model.parameters(unit);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Parameter parameter{.ref = {unit, i}, .elements = shapes[i].elements()};
      parameter.partition = divide_up(parameter.elements, ranks_);
      parameter.persistent =
          parameter.elements <= spec_.stage3_param_persistence_threshold &&
          (!spec_.stage3_model_persistence_threshold ||
           persistent + parameter.elements <= *spec_.stage3_model_persistence_threshold);
      if (parameter.persistent) persistent += parameter.elements;
      coordinated.push_back({parameter.elements, parameter.persistent});
      parameters_.push_back(parameter);
    }
  }
  coordinator_.emplace(CoordinatorLimits{.prefetch_bucket = spec_.stage3_prefetch_bucket_size,
                                         .max_live = spec_.stage3_max_live_parameters,
                                         .max_reuse_distance = spec_.stage3_max_reuse_distance},
                       std::move(coordinated), static_cast<ParameterActions&>(*this));
  const auto allocate = [this](std::int64_t elements, MemoryKind kind, const char* name) {
    recorder_.allocate(bytes_of(elements), UnitRecorder::compute, kind, name);
  };
  std::int64_t own = 0;
  for (const std::int64_t elements : sub_groups()) {
    allocate(elements, MemoryKind::parameters, "partitioned parameters");
    own += elements;
  }
  allocate(own, MemoryKind::gradients, "gradient partitions");
  if (spec_.contiguous_gradients) {
    allocate(spec_.reduce_bucket_size, MemoryKind::communication_buffers, "gradient bucket");
  }
}

/// A sub-group closes with the parameter that reaches its size.
std::vector<std::int64_t> Zero3::sub_groups() const {
  std::vector<std::int64_t> groups;
  std::int64_t open = 0;
  for (const Parameter& parameter : parameters_) {
    open += parameter.partition;
    if (open < spec_.sub_group_size) continue;
    groups.push_back(open);
    open = 0;
  }
  if (open > 0) groups.push_back(open);
  return groups;
}

void Zero3::at_module(const ModulePass& pass) {
  std::vector<ParameterId> ids;
  const std::size_t first = first_of_unit_[static_cast<std::size_t>(pass.unit + 1)];
  for (const std::size_t index : pass.parameters) ids.push_back(first + index);
  if (pass.point == ModulePoint::post_forward || pass.point == ModulePoint::post_backward) {
    coordinator_->release(ids);
    return;
  }
  recorder_.program().cpu_work(recorder_.workload().module_hook_cost());
  coordinator_->fetch(ids);
}

/// One parameter is gathered where it will be used; several through a flat buffer.
void Zero3::all_gather(std::span<const ParameterId> set, bool prefetch) {
  Gather gather{.flat = {}, .parameters = {set.begin(), set.end()}, .pending = set.size()};
  if (set.size() == 1) {
    Parameter& parameter = parameters_[set.front()];
    parameter.full = recorder_.allocate(bytes_of(padded(parameter)), gather_stream_,
                                        MemoryKind::gathered_parameters, "gathered parameter");
  } else {
    gather.flat = gather_input(set, gather_stream_);
  }
  recorder_.program().wait_stream(nccl_stream_, gather_stream_);
  launch_gather(set, nccl_stream_, prefetch ? "prefetch_all_gather" : "all_gather");
  gather.done = recorder_.program().record_event(nccl_stream_);
  for (const ParameterId id : set) parameters_[id].gather = gathers_.size();
  gathers_.push_back(std::move(gather));
}

/// A buffer for the set's padded parameters, with this rank's partitions in their slot.
Buffer Zero3::gather_input(std::span<const ParameterId> set, cuda::StreamId stream) {
  std::int64_t own = 0;
  for (const ParameterId id : set) own += parameters_[id].partition;
  Buffer flat = recorder_.allocate(bytes_of(own * ranks_), stream,
                                   MemoryKind::communication_buffers, "coalesced all-gather");
  recorder_.copy(stream, CopyRole::copy_in, parameters_[set.front()].ref.unit, "all_gather_copy_in",
                 bytes_of(own) * 2, static_cast<std::int64_t>(set.size()));
  return flat;
}

void Zero3::launch_gather(std::span<const ParameterId> set, cuda::StreamId stream,
                          std::string_view operation) {
  std::int64_t elements = 0;
  std::vector<ParameterRef> parts;
  for (const ParameterId id : set) {
    elements += padded(parameters_[id]);
    parts.push_back(parameters_[id].ref);
  }
  recorder_.program().launch(stream,
                             recorder_.workload().unit_operation(operation, parts.front().unit),
                             recorder_.workload().collective_of(CollectiveRole::all_gather, parts,
                                                                {.kind = CollectiveKind::all_gather,
                                                                 .communicator = communicator_,
                                                                 .bytes = bytes_of(elements),
                                                                 .type = type_,
                                                                 .fixed_time = {},
                                                                 .cpu_cost = {}}));
}

/// Concatenates each parameter from the ranks' slots into memory of its own.
void Zero3::copy_out(std::span<const ParameterId> set, cuda::StreamId stream) {
  for (const ParameterId id : set) {
    Parameter& parameter = parameters_[id];
    const Bytes bytes = bytes_of(parameter.elements);
    parameter.full =
        recorder_.allocate(bytes, stream, MemoryKind::gathered_parameters, "gathered parameter");
    recorder_.copy(stream, CopyRole::copy_out, parameter.ref.unit, "all_gather_copy_out",
                   bytes * 2);
  }
}

/// Blocks on the oldest event if too many are unfinished. The CPU drops finished ones first: it
/// does not block on them here either.
void Zero3::bound_in_flight(std::deque<cuda::EventId>& events, std::string_view what) {
  if (events.size() <= max_events_in_flight) return;
  recorder_.program().synchronize_event(events.front(), what);
  events.pop_front();
}

/// The first parameter of a coalesced gather assembles them all; the last drops the flat buffer.
void Zero3::assemble(ParameterId id) {
  Gather& gather = gathers_[parameters_[id].gather];
  bound_in_flight(fetch_events_, "fetch");
  if (!gather.waited) {
    recorder_.program().wait_event(gather_stream_, gather.done);
    if (gather.parameters.size() > 1) copy_out(gather.parameters, gather_stream_);
    gather.waited = true;
  }
  if (--gather.pending == 0) recorder_.release(gather.flat);
  fetch_events_.push_back(recorder_.program().record_event(gather_stream_));
}

void Zero3::wait(std::span<const ParameterId>) {
  if (gather_stream_ == UnitRecorder::compute) return;
  recorder_.program().wait_stream(UnitRecorder::compute, gather_stream_);
}

void Zero3::release(std::span<const ParameterId> set) {
  for (const ParameterId id : set) {
    recorder_.record_stream(parameters_[id].full, UnitRecorder::compute);
    recorder_.release(parameters_[id].full);
  }
}

/// Blocking, on the compute stream.
void Zero3::gather_persistent() {
  std::vector<ParameterId> set;
  for (ParameterId id = 0; id < parameters_.size(); ++id) {
    if (parameters_[id].persistent) set.push_back(id);
  }
  if (set.empty()) return;
  Buffer flat = gather_input(set, UnitRecorder::compute);
  launch_gather(set, UnitRecorder::compute, "all_gather");
  copy_out(set, UnitRecorder::compute);
  recorder_.release(flat);
}

void Zero3::optimizer_step() {
  coordinator_->release_all();
  optimizer_->step(communicator_);
  has_gradients_ = false;
  gather_persistent();
  if (gather_stream_ != UnitRecorder::compute) {
    recorder_.program().wait_stream(gather_stream_, UnitRecorder::compute);
  }
}

}  // namespace shardsim::training
