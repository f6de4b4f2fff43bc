#include "cli/shard_environment.hpp"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace shardsim::cli {

using scenario::Shard;

namespace {

struct Place {
  std::int64_t index = 0;  ///< from 0
  std::int64_t count = 1;
  std::string from;
};

std::optional<std::int64_t> number(const Environment& environment, const char* name) {
  const auto text = environment(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto done = std::from_chars(text->data(), end, value);
  if (done.ec != std::errc{} || done.ptr != end || value < 0) return std::nullopt;
  return value;
}

/// Indices of an array count from its first in its own steps.
std::optional<Place> slurm_array(const Environment& environment) {
  const auto id = number(environment, "SLURM_ARRAY_TASK_ID");
  const auto count = number(environment, "SLURM_ARRAY_TASK_COUNT");
  if (!id || !count || *count < 1) return std::nullopt;
  const std::int64_t first = number(environment, "SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::int64_t step =
      std::max<std::int64_t>(1, number(environment, "SLURM_ARRAY_TASK_STEP").value_or(1));
  return Place{(*id - first) / step, *count, "SLURM_ARRAY_TASK_ID"};
}

/// Processes of one job that know of one another.
std::optional<Place> processes(const Environment& environment) {
  constexpr const char* variables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                          {"PMI_RANK", "PMI_SIZE"},
                                          {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                          {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : variables) {
    const auto index = number(environment, rank);
    const auto count = number(environment, size);
    if (index && count && *count >= 1) return Place{*index, *count, rank};
  }
  return std::nullopt;
}

std::expected<ChosenShard, std::string> from_place(const Place& place) {
  if (place.index >= place.count) {
    return std::unexpected(
        fmt::format("{} is {}, beyond the {} parts", place.from, place.index, place.count));
  }
  return ChosenShard{Shard{place.index + 1, place.count}, place.from};
}

std::optional<Place> find_place(const Environment& environment) {
  const auto array = slurm_array(environment);
  const auto inner = processes(environment);
  if (array && inner && inner->count > 1) {
    return Place{array->index * inner->count + inner->index, array->count * inner->count,
                 array->from + " and " + inner->from};
  }
  return array ? array : inner;
}

/// `count` is what auto/N says; 0: nothing.
std::expected<ChosenShard, std::string> take_from(const Environment& environment,
                                                  std::int64_t count, bool asked) {
  const auto place = find_place(environment);
  if (place && (count == 0 || count == place->count)) return from_place(*place);
  const auto completion = number(environment, "JOB_COMPLETION_INDEX");
  if (completion && count > 0) {
    return from_place({*completion, count, "JOB_COMPLETION_INDEX"});
  }
  if (place && count > 0) {
    return std::unexpected(
        fmt::format("{} says {} parts, not {}", place->from, place->count, count));
  }
  if (completion) {
    return std::unexpected(std::string(
        "JOB_COMPLETION_INDEX has no count beside it: expected auto/N with the job's number of "
        "completions, or 1/1 for the whole sweep"));
  }
  if (asked) {
    return std::unexpected(std::string(
        "auto finds no index in the environment (of a Slurm array, srun, MPI or Kubernetes): "
        "expected I/N"));
  }
  return ChosenShard{};
}

}  // namespace

Environment current_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::expected<ChosenShard, std::string> choose_shard(const std::string& option,
                                                     const Environment& environment) {
  if (option.empty()) return take_from(environment, 0, false);
  if (option == "auto") return take_from(environment, 0, true);
  if (option.starts_with("auto/")) {
    const auto parsed = scenario::parse_shard("1" + option.substr(4));
    if (!parsed) return std::unexpected(parsed.error());
    return take_from(environment, parsed->of, true);
  }
  const auto given = scenario::parse_shard(option);
  if (!given) return std::unexpected(given.error());
  return ChosenShard{*given, {}};
}

std::string shard_file(const std::string& file, const Shard& shard) {
  if (file.empty() || file == "-" || shard.of == 1) return file;
  const std::size_t slash = file.find_last_of('/');
  const std::size_t dot = file.find_last_of('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const std::string stem = has_ending ? file.substr(0, dot) : file;
  return fmt::format("{}.{}-of-{}{}", stem, shard.number, shard.of,
                     has_ending ? file.substr(dot) : "");
}

}  // namespace shardsim::cli
