#include "models/scenario/result.hpp"

#include "models/scenario/result_json.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;

const char* memory_kind_name(cuda::MemoryKind kind) {
  switch (kind) {
    case cuda::MemoryKind::parameters:
      return "parameters";
    case cuda::MemoryKind::gradients:
      return "gradients";
    case cuda::MemoryKind::optimizer:
      return "optimizer";
    case cuda::MemoryKind::activations:
      return "activations";
    case cuda::MemoryKind::gathered_parameters:
      return "gathered_parameters";
    case cuda::MemoryKind::communication_buffers:
      return "communication_buffers";
    case cuda::MemoryKind::other:
      return "other";
  }
  return "other";
}

namespace {

Json step_json(const StepResult& step) {
  return {{"time_s", step.time.seconds()},
          {"compute_s", step.compute.seconds()},
          {"communication_s", step.communication.seconds()},
          {"exposed_communication_s", step.exposed_communication.seconds()},
          {"overlap_fraction", step.overlap_fraction},
          {"cpu_bound_s", step.cpu_bound.seconds()},
          {"interference_s", step.interference.seconds()}};
}

void add_interval(Json& step, const std::optional<StepInterval>& interval) {
  step["interval_90_s"] = nullptr;
  if (interval) step["interval_90_s"] = {interval->low.seconds(), interval->high.seconds()};
  step["interval_runs"] = interval ? interval->runs : 0;
  step["comparable"] = interval && interval->comparable;
  step["comparable_runs"] = interval ? interval->comparable_runs : 0;
  step["comparable_what"] = interval ? Json(interval->what) : Json(nullptr);
}

Json what_if_json(const WhatIf& one, simcore::SimTime step) {
  Json json{{"change", one.key}, {"step_time_s", nullptr}, {"relative_change", nullptr}};
  if (!one.step) return json;
  json["step_time_s"] = one.step->seconds();
  if (step > simcore::SimTime{}) {
    json["relative_change"] = one.step->seconds() / step.seconds() - 1;
  }
  return json;
}

template <class BytesByKind>
Json breakdown_json(const BytesByKind& by_kind) {
  Json breakdown = Json::object();
  for (int kind = 0; kind < cuda::memory_kind_count; ++kind) {
    const std::string name = memory_kind_name(static_cast<cuda::MemoryKind>(kind));
    breakdown[name + "_bytes"] = by_kind[static_cast<std::size_t>(kind)].count;
  }
  return breakdown;
}

Json seconds_or_null(const std::optional<simcore::SimTime>& time) {
  return time ? Json(time->seconds()) : Json(nullptr);
}

Json peak_json(const std::optional<MemoryPeak>& peak) {
  if (!peak) return nullptr;
  return {{"step", peak->step},
          {"time_s", seconds_or_null(peak->time)},
          {"device_time_s", seconds_or_null(peak->device_time)},
          {"allocated_bytes", peak->allocated.count},
          {"allocation", peak->allocation},
          {"kind", memory_kind_name(peak->kind)},
          {"operation", peak->operation},
          {"unit", peak->unit}};
}

Json timeline_json(const std::vector<MemoryPoint>& points) {
  Json timeline = Json::array();
  for (const MemoryPoint& point : points) {
    timeline.push_back({{"time_s", point.time.seconds()},
                        {"device_time_s", point.device_time.seconds()},
                        {"allocated_bytes", point.allocated.count},
                        {"reserved_bytes", point.reserved.count},
                        {"breakdown", breakdown_json(point.by_kind)}});
  }
  return timeline;
}

/// Null where there is no model whose tokens and FLOPs could be counted.
Json throughput_json(const Throughput& throughput) {
  const auto number = [&](double value) {
    return throughput.tokens_per_s > 0 ? Json(value) : Json(nullptr);
  };
  return {{"tokens_per_s", number(throughput.tokens_per_s)},
          {"tokens_per_s_per_gpu", number(throughput.tokens_per_s_per_gpu)},
          {"model_tflops_per_gpu", number(throughput.model_tflops_per_gpu)},
          {"mfu", number(throughput.mfu)},
          {"hfu", number(throughput.hfu)}};
}

Json host_json(const HostMemoryResult& host) {
  const auto part = [&host](cuda::MemoryKind kind) {
    return host.by_kind[static_cast<std::size_t>(kind)].count;
  };
  return {{"node", host.node},
          {"gpus", host.gpus},
          {"used_bytes", host.used().count},
          {"used_per_gpu_bytes", host.used().count / host.gpus},
          {"capacity_bytes", host.capacity ? Json(host.capacity->count) : Json(nullptr)},
          {"fits", host.fits()},
          {"parameters_bytes", part(cuda::MemoryKind::parameters)},
          {"gradients_bytes", part(cuda::MemoryKind::gradients)},
          {"optimizer_bytes", part(cuda::MemoryKind::optimizer)}};
}

Json memory_json(const MemoryResult& memory) {
  Json json{{"persistent_bytes", memory.persistent.count},
            {"peak_allocated_bytes", memory.peak_allocated.count},
            {"peak_reserved_bytes", memory.peak_reserved.count},
            {"outside_allocator_bytes", memory.outside.count},
            {"peak_used_bytes", (memory.peak_reserved + memory.outside).count},
            {"capacity_bytes", memory.capacity.count},
            {"fits", memory.fits},
            {"breakdown", breakdown_json(memory.by_kind)},
            {"peak", peak_json(memory.timeline.peak)},
            {"timeline", timeline_json(memory.timeline.points)}};
  if (memory.host) json["host"] = host_json(*memory.host);
  return json;
}

Json suggestions_json(const std::vector<MemorySuggestion>& suggestions) {
  Json list = Json::array();
  for (const MemorySuggestion& one : suggestions) {
    list.push_back({{"key", one.key},
                    {"value", one.value},
                    {"used_bytes", one.used.count},
                    {"step_time_s", one.step_time.seconds()},
                    {"tokens_per_s_per_gpu", one.tokens_per_s_per_gpu}});
    if (one.host_used) list.back()["host_used_bytes"] = one.host_used->count;
  }
  return list;
}

Json out_of_memory_json(const OutOfMemoryResult& what) {
  const cuda::MemoryShortage& shortage = what.shortage;
  Json json{{"rank", what.rank},
            {"step", what.step},
            {"operation", what.operation},
            {"unit", what.unit},
            {"allocation", what.allocation},
            {"kind", memory_kind_name(what.kind)},
            {"requested_bytes", shortage.requested.count},
            {"segment_bytes", shortage.segment.count},
            {"allowed_bytes", shortage.capacity.count},
            {"reserved_bytes", shortage.reserved.count},
            {"allocated_bytes", shortage.allocated.count},
            {"cached_bytes", shortage.cached.count},
            {"largest_cached_bytes", shortage.largest_cached.count},
            {"pending_bytes", shortage.pending.count},
            {"live", breakdown_json(shortage.allocated_by_kind)},
            {"suggestions_tried", what.tried},
            {"suggestions", suggestions_json(what.suggestions)}};
  if (what.on_host) json["where"] = "host";
  return json;
}

Json stopped_json(const StoppedResult& what) {
  Json operations = Json::array();
  for (const OperationTime& one : what.operations) {
    operations.push_back({{"stream", one.stream},
                          {"name", one.name},
                          {"start_s", one.start.seconds()},
                          {"end_s", one.end.seconds()}});
  }
  return {{"why", what.why},     {"reached_s", what.reached.seconds()}, {"step", what.step},
          {"steps", what.steps}, {"operations", std::move(operations)}, {"waiting", what.waiting}};
}

Json collective_json(const CollectiveResult& one) {
  return {{"kind", one.kind},
          {"group", one.group},
          {"group_size", one.group_size},
          {"count", one.count},
          {"bytes", one.bytes.count},
          {"time_s", one.time.seconds()},
          {"exposed_s", one.exposed.seconds()},
          {"algorithm", one.algorithm},
          {"protocol", one.protocol},
          {"channels", one.channels},
          {"algbw_gbytes_per_s", one.algbw_gbytes_per_s},
          {"busbw_gbytes_per_s", one.busbw_gbytes_per_s}};
}

Json job_json(const JobResult& job) {
  return {{"name", job.name},
          {"background", job.background},
          {"gpus", job.gpus},
          {"nodes", job.nodes},
          {"steps", job.steps},
          {"step_time_s", job.steps > 0 ? Json(job.step_time.seconds()) : Json(nullptr)},
          {"tokens_per_s", job.tokens_per_s},
          {"rank_classes", job.rank_classes}};
}

}  // namespace

nlohmann::ordered_json result_json(const Result& result) {
  Json json;
  json["schema"] = "shardsim.result/1";
  json["scenario"] = {{"name", result.scenario_name},
                      {"file", result.scenario_file},
                      {"overrides", result.overrides}};
  json["cluster"] = {{"gpus", result.gpus}, {"nodes", result.nodes}, {"gpu", result.gpu}};
  if (!result.topology.empty()) json["cluster"]["topology"] = result.topology;
  const bool ended = !result.out_of_memory && !result.stopped;
  json["step"] = ended ? step_json(result.step) : Json(nullptr);
  if (ended) add_interval(json["step"], result.interval);
  json["throughput"] = ended ? throughput_json(result.throughput) : Json(nullptr);
  json["memory"] = result.stopped ? Json(nullptr) : memory_json(result.memory);
  if (result.out_of_memory) json["out_of_memory"] = out_of_memory_json(*result.out_of_memory);
  if (result.stopped) json["stopped"] = stopped_json(*result.stopped);
  json["collectives"] = Json::array();
  for (const CollectiveResult& one : result.collectives) {
    json["collectives"].push_back(collective_json(one));
  }
  json["links"] = Json::array();
  for (const LinkResult& link : result.links) {
    json["links"].push_back({{"name", link.name},
                             {"bytes", link.bytes.count},
                             {"busy_fraction", link.busy_fraction},
                             {"peak_share", link.peak_share}});
  }
  json["critical_path"] = Json::array();
  for (const PathShare& part : result.critical_path) {
    json["critical_path"].push_back(
        {{"what", part.what}, {"time_s", part.time.seconds()}, {"share", part.share}});
  }
  if (!result.jobs.empty()) json["jobs"] = Json::array();
  for (const JobResult& job : result.jobs) json["jobs"].push_back(job_json(job));
  if (!result.what_if.empty()) json["what_if"] = Json::array();
  for (const WhatIf& one : result.what_if) {
    json["what_if"].push_back(what_if_json(one, result.step.time));
  }
  json["warnings"] = result.warnings;
  json["simulator"] = {{"version", result.simulator.version},
                       {"events", result.simulator.events},
                       {"wall_s", result.simulator.wall_s},
                       {"peak_rss_bytes", result.simulator.peak_rss_bytes},
                       {"simulated_ranks", result.simulator.simulated_ranks},
                       {"rank_classes", result.simulator.rank_classes},
                       {"fidelity", result.simulator.fidelity}};
  return json;
}

std::string to_json(const Result& result) {
  return result_json(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shardsim::scenario
