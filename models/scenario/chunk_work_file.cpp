#include "models/scenario/chunk_work_file.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/cuda/collective_name.hpp"
#include "simcore/config/source_positions.hpp"
#include "simcore/json_limits.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;
using cuda::CollectiveKind;

namespace {

constexpr std::array all_kinds{CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                               CollectiveKind::all_reduce, CollectiveKind::broadcast,
                               CollectiveKind::reduce,     CollectiveKind::alltoall,
                               CollectiveKind::sendrecv};

/// nccl-tests' names.
constexpr std::array<std::pair<std::string_view, gpu::DataType>, 4> type_names{
    {{"float", gpu::DataType::fp32},
     {"half", gpu::DataType::fp16},
     {"bfloat16", gpu::DataType::bf16},
     {"int8", gpu::DataType::fp8}}};

std::string_view type_name(gpu::DataType type) {
  const auto found = std::ranges::find(type_names, type, [](auto& one) { return one.second; });
  return found == type_names.end() ? "float" : found->first;
}

Json channel_json(const nccl::ChannelWork& one) {
  Json json{{"channel", one.channel}, {"offset", one.offset_bytes},
            {"bytes", one.bytes},     {"chunk_bytes", one.chunk_bytes},
            {"slices", one.slices},   {"slice_steps", one.slice_steps}};
  if (!one.ring.empty()) json["ring"] = one.ring;
  if (!one.tree.empty()) {
    Json links = Json::array();
    for (const nccl::TreeLinks& link : one.tree) {
      links.push_back({link.up, link.down[0], link.down[1], link.down[2]});
    }
    json["tree"] = std::move(links);
  }
  return json;
}

Json messages_json(const nccl::MessageWork& work) {
  Json rounds = Json::array();
  for (const nccl::MessageRound& round : work.rounds) {
    rounds.push_back({round.group_distance, round.distance, round.first_channel});
  }
  return {{"bytes", work.bytes},
          {"channels", work.channels},
          {"parts", work.cut.parts},
          {"part_bytes", work.cut.part_bytes},
          {"chunk_bytes", work.cut.chunk_bytes},
          {"group_size", work.group_size},
          {"rounds", std::move(rounds)}};
}

Json work_json(const SizedWork& sized) {
  const nccl::ChunkWork& work = sized.work;
  const bool messages = !work.messages.rounds.empty();
  Json json{{"size", sized.size},
            {"algorithm", messages ? "P2P" : name(work.algorithm)},
            {"protocol", name(work.protocol)},
            {"ranks", work.ranks},
            {"element_bytes", work.element_bytes},
            {"root", work.root},
            {"step_bytes", work.step_bytes}};
  if (messages) {
    json["messages"] = messages_json(work.messages);
    return json;
  }
  Json channels = Json::array();
  for (const nccl::ChannelWork& one : work.channels) channels.push_back(channel_json(one));
  json["channels"] = std::move(channels);
  return json;
}

/// Reads keys of a document, with what is wrong about them.
class SetupReader {
 public:
  SetupReader(const std::string& file, simcore::Diagnostics& diagnostics)
      : diagnostics_(diagnostics) {
    auto read = simcore::read_text_file(file, max_chunk_work_bytes);
    source_ = std::make_shared<simcore::SourceText>(
        simcore::SourceText{file, read ? std::move(*read) : std::string()});
    const std::string& text = source_->text;
    if (!read) {
      fail(read.error());
    } else if (text.size() > max_chunk_work_bytes) {
      fail(fmt::format("larger than {} MiB", max_chunk_work_bytes >> 20));
    } else if (const auto large = simcore::json_too_large(text, limits)) {
      fail_at(*large);
    } else {
      json_ = nlohmann::json::parse(text, nullptr, false);
      if (!json_.is_discarded()) return;
      const auto problem = simcore::json_syntax_problem(text);
      fail_at(problem.value_or(simcore::JsonProblem{0, "not valid JSON"}));
    }
  }

  std::optional<ChunkWorkSetup> read() {
    if (diagnostics_.has_errors()) return std::nullopt;
    if (text(json_, "schema") != chunk_work_schema) {
      fail(fmt::format("expected schema '{}'", chunk_work_schema));
      return std::nullopt;
    }
    ChunkWorkSetup setup;
    const auto cluster = json_.find("cluster");
    if (cluster == json_.end() || !cluster->is_object()) {
      fail("expected an object under 'cluster'");
      return std::nullopt;
    }
    setup.cluster.topology = text(*cluster, "topology");
    setup.cluster.nccl_version = text(*cluster, "nccl_version");
    setup.cluster.nodes = number(*cluster, "nodes");
    if (cluster->contains("gpus_per_node")) {
      setup.cluster.gpus_per_node = number(*cluster, "gpus_per_node");
    }
    read_env(*cluster, setup.cluster.env);
    read_settings(setup.settings);
    read_sizes(setup.sizes);
    if (diagnostics_.has_errors()) return std::nullopt;
    return setup;
  }

 private:
  /// Works of a thousand ranks on 32 channels and twenty sizes have a million numbers.
  static constexpr simcore::JsonLimits limits{.values = 8'000'000, .keys = 1'000'000, .depth = 64};

  void fail(std::string message) { diagnostics_.error({source_, 0, 0}, std::move(message)); }
  void fail_at(const simcore::JsonProblem& problem) {
    diagnostics_.error(simcore::SourcePositions(source_).at(problem.offset), problem.message);
  }

  std::string text(const nlohmann::json& json, const char* key) {
    if (json.is_object() && json.contains(key) && json[key].is_string()) return json[key];
    fail(fmt::format("expected a text under '{}'", key));
    return {};
  }

  std::int64_t number(const nlohmann::json& json, const char* key) {
    constexpr std::int64_t most = 1'000'000;
    if (json.contains(key) && json[key].is_number_integer()) {
      const auto value = json[key].get<std::int64_t>();
      if (value >= 1 && value <= most) return value;
    }
    fail(fmt::format("expected a number from 1 to {} under '{}'", most, key));
    return 1;
  }

  void read_env(const nlohmann::json& cluster, std::map<std::string, std::string>& env) {
    if (!cluster.contains("env")) return;
    if (!cluster["env"].is_object()) return fail("expected an object under 'env'");
    for (const auto& [name, value] : cluster["env"].items()) {
      if (!value.is_string()) return fail(fmt::format("expected a text under '{}'", name));
      env[name] = value;
    }
  }

  void read_sizes(std::vector<std::int64_t>& sizes) {
    if (!json_.contains("works") || !json_["works"].is_array() || json_["works"].empty()) {
      return fail("expected a list with at least one work under 'works'");
    }
    for (const nlohmann::json& work : json_["works"]) {
      if (!work.is_object() || !work.contains("size") || !work["size"].is_number_integer()) {
        return fail("expected a whole number under 'size' of each work");
      }
      sizes.push_back(work["size"].get<std::int64_t>());
    }
  }

  void read_settings(CollectiveSettings& settings) {
    const std::string collective = text(json_, "collective");
    const auto kind = std::ranges::find(all_kinds, collective, cuda::collective_name);
    const std::string type = text(json_, "datatype");
    const auto found = std::ranges::find(type_names, type, [](auto& one) { return one.first; });
    if (kind == all_kinds.end()) fail(fmt::format("there is no collective '{}'", collective));
    if (found == type_names.end()) fail(fmt::format("there is no type '{}'", type));
    if (diagnostics_.has_errors()) return;
    settings.kind = *kind;
    settings.type = found->second;
    settings.fidelity = CollectiveFidelity::chunk;
  }

  simcore::Diagnostics& diagnostics_;
  std::shared_ptr<simcore::SourceText> source_;
  nlohmann::json json_;
};

}  // namespace

std::string chunk_work_json(const ChunkWorkSetup& setup, const std::vector<SizedWork>& works) {
  Json cluster{{"topology", setup.cluster.topology}, {"nodes", setup.cluster.nodes}};
  if (setup.cluster.gpus_per_node) cluster["gpus_per_node"] = *setup.cluster.gpus_per_node;
  cluster["nccl_version"] = setup.cluster.nccl_version;
  cluster["env"] = Json::object();
  for (const auto& [name, value] : setup.cluster.env) cluster["env"][name] = value;
  Json list = Json::array();
  for (const SizedWork& one : works) list.push_back(work_json(one));
  const Json json{{"schema", chunk_work_schema},
                  {"cluster", std::move(cluster)},
                  {"collective", cuda::collective_name(setup.settings.kind)},
                  {"datatype", type_name(setup.settings.type)},
                  {"works", std::move(list)}};
  return json.dump() + "\n";
}

std::optional<ChunkWorkSetup> read_chunk_work_setup(const std::string& file,
                                                    simcore::Diagnostics& diagnostics) {
  return SetupReader(file, diagnostics).read();
}

}  // namespace shardsim::scenario
