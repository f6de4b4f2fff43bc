#include "models/scenario/validation/collective_mapping.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/environment.hpp"
#include "simcore/config/override.hpp"
#include "simcore/integer.hpp"

namespace shardsim::scenario {

using simcore::ConfigNode;
using simcore::Fields;

namespace {

/// What rules may set.
struct MappedMachine {
  std::optional<std::string> topology;
  std::optional<std::int64_t> compute_capability;
  std::optional<network::CableSpec> gpu_link;
  std::optional<std::int64_t> nvlink_links;
  std::string version = "2.27.7";
  std::map<std::string, std::string> env;
  std::string launch = "mpi";
  NicChange nics;

  static void describe(Fields<MappedMachine>& fields) {
    fields.optional("topology", &MappedMachine::topology,
                    "The machine that it is, or is built on.");
    fields.optional("compute_capability", &MappedMachine::compute_capability, "Times ten.");
    fields.optional("gpu_link", &MappedMachine::gpu_link, "Of the GPUs to PCIe.");
    fields.optional("nvlink_links", &MappedMachine::nvlink_links, "NVLinks of a GPU.")
        .range(1, 1024);
    fields.optional("version", &MappedMachine::version, "Where the source names none.");
    fields.optional("env", &MappedMachine::env, "NCCL's variables.");
    fields.optional("launch", &MappedMachine::launch, "mpi, threads or process.");
    fields.optional("nics", &MappedMachine::nics, "The network.");
  }
};

const std::map<std::string_view, cuda::CollectiveKind> kinds{
    {"all_reduce", cuda::CollectiveKind::all_reduce},
    {"all_gather", cuda::CollectiveKind::all_gather},
    {"reduce_scatter", cuda::CollectiveKind::reduce_scatter},
    {"broadcast", cuda::CollectiveKind::broadcast},
    {"reduce", cuda::CollectiveKind::reduce},
    {"alltoall", cuda::CollectiveKind::alltoall},
    {"sendrecv", cuda::CollectiveKind::sendrecv}};

// 8-bit integers count as fp8: neither is reduced by NVLink switches.
const std::map<std::string_view, gpu::DataType> types{{"float", gpu::DataType::fp32},
                                                      {"half", gpu::DataType::fp16},
                                                      {"bfloat16", gpu::DataType::bf16},
                                                      {"int8", gpu::DataType::fp8},
                                                      {"uint8", gpu::DataType::fp8}};

const std::map<std::string_view, LaunchMode> launches{
    {"mpi", LaunchMode::mpi}, {"threads", LaunchMode::threads}, {"process", LaunchMode::process}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> count_in(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end || value <= 0) return std::nullopt;
  return value;
}

const std::string& fact(const TableFacts& facts, const std::string& column) {
  static const std::string none;
  const auto found = facts.find(column);
  return found == facts.end() ? none : found->second;
}

bool applies(const MappingRule& rule, const TableFacts& facts) {
  return std::ranges::all_of(rule.when, [&facts](const auto& condition) {
    return std::ranges::any_of(condition.second, [&](const std::string& pattern) {
      return matches(pattern, fact(facts, condition.first));
    });
  });
}

std::expected<MappedMachine, std::string> machine_by_rules(const TableFacts& facts,
                                                           const CollectiveRules& rules) {
  simcore::Diagnostics diagnostics;
  const auto source =
      std::make_shared<simcore::SourceText>(simcore::SourceText{fact(facts, "table"), ""});
  ConfigNode root = ConfigNode::make_map({source, 0, 0});
  for (const MappingRule& rule : rules.rules) {
    if (!applies(rule, facts)) continue;
    if (rule.refuse) return std::unexpected(*rule.refuse);
    for (const auto& [key, value] : rule.set) {
      simcore::apply_override(root, fmt::format("{}={}", key, value), diagnostics, source->name);
    }
  }
  auto machine = simcore::read_config<MappedMachine>(root, diagnostics);
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity == simcore::Severity::error) return std::unexpected(one.message);
  }
  if (!machine.topology) {
    return std::unexpected(fmt::format("no rule for gpu {}", simcore::quote(fact(facts, "gpu"))));
  }
  return machine;
}

/// "no such type: bflat16; did you mean 'bfloat16'?"
template <class Known>
std::string unknown_word(std::string_view what, const std::string& word, const Known& known) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : known) names.emplace_back(name);
  return fmt::format("no such {}: {}{}", what, word,
                     simcore::did_you_mean(simcore::nearest_spelling(word, names)));
}

/// Why a NAME=VALUE of the text that is meant for NCCL is none of its variables.
std::optional<std::string> no_variable_in(std::string_view text) {
  constexpr std::string_view separators = " ;,";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find_first_of(separators, at), text.size());
    const std::string_view word = text.substr(at, stop - at);
    at = stop + 1;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(word.substr(0, equals));
    std::string upper = name;
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    constexpr std::string_view prefix = "NCCL_";
    if (!upper.starts_with(prefix)) continue;
    if (name.size() > prefix.size() && nccl::is_nccl_name(name)) continue;
    return fmt::format("env: {} is none of NCCL's variables{}", simcore::quote(name),
                       simcore::did_you_mean(nccl::nearest_nccl_name(name)));
  }
  return std::nullopt;
}

/// NVLink domains of equal size, as few as hold the nodes; nothing if they cannot be equal.
std::optional<std::int64_t> equal_domain(std::int64_t nodes, std::int64_t most) {
  const std::int64_t domains = simcore::divide_up(nodes, most);
  return nodes % domains == 0 ? std::optional(nodes / domains) : std::nullopt;
}

}  // namespace

void CollectiveRules::describe(Fields<CollectiveRules>& fields) {
  fields.required("rules", &CollectiveRules::rules, "Applied in order.");
}

std::optional<std::pair<std::int64_t, std::int64_t>> nics_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && is_digit(text[at - 1]))) continue;
    std::int64_t count = 0;
    std::int64_t gigabits = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data() + at, end, count);
    if (first.ptr == end || *first.ptr != 'x') continue;
    const auto second = std::from_chars(first.ptr + 1, end, gigabits);
    if (second.ec == std::errc::invalid_argument || second.ptr == end || *second.ptr != 'G') {
      continue;
    }
    constexpr auto beyond = std::numeric_limits<std::int64_t>::max();
    return std::pair{first.ec == std::errc{} ? count : beyond,
                     second.ec == std::errc{} ? gigabits : beyond};
  }
  return std::nullopt;
}

std::map<std::string, std::string> variables_in(std::string_view text) {
  std::map<std::string, std::string> variables;
  constexpr std::string_view prefix = "NCCL_";
  for (std::size_t at = text.find(prefix); at != std::string_view::npos;
       at = text.find(prefix, at + 1)) {
    const std::size_t stop = std::min(text.find_first_of(" ;,", at), text.size());
    const std::string_view word = text.substr(at, stop - at);
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    std::string value(word.substr(equals + 1));
    std::erase(value, '"');
    variables.insert_or_assign(std::string(word.substr(0, equals)), std::move(value));
  }
  return variables;
}

std::expected<CollectiveCase, std::string> map_table(const TableFacts& facts,
                                                     const CollectiveRules& rules) {
  auto machine = machine_by_rules(facts, rules);
  if (!machine) return std::unexpected(machine.error());
  CollectiveCase made;
  const auto kind = kinds.find(fact(facts, "collective"));
  const auto type = types.find(fact(facts, "dtype"));
  if (kind == kinds.end()) {
    return std::unexpected(unknown_word("collective", fact(facts, "collective"), kinds));
  }
  if (type == types.end()) {
    return std::unexpected(unknown_word("type", fact(facts, "dtype"), types));
  }
  const auto nodes = count_in(fact(facts, "nodes"));
  const auto gpus = count_in(fact(facts, "gpus_per_node"));
  if (!nodes) return std::unexpected("the source does not say: nodes");
  if (!gpus) return std::unexpected("the source does not say: gpus_per_node");
  made.settings.kind = kind->second;
  made.settings.type = type->second;
  const auto launch = launches.find(machine->launch);
  if (launch == launches.end()) {
    return std::unexpected(unknown_word("launch", machine->launch, launches));
  }
  made.settings.launch = launch->second;

  ClusterRequest& cluster = made.cluster;
  cluster.topology = *machine->topology;
  cluster.nodes = *nodes;
  cluster.gpus_per_node = gpus;
  const std::string& version = fact(facts, "nccl_version");
  cluster.nccl_version = version.empty() ? machine->version : version.substr(0, version.find('+'));
  cluster.env = machine->env;
  if (auto unknown = no_variable_in(fact(facts, "env"))) {
    return std::unexpected(std::move(*unknown));
  }
  for (auto& [name, value] : variables_in(fact(facts, "env"))) {
    cluster.env.try_emplace(name, value);
  }
  cluster.compute_capability = machine->compute_capability;
  cluster.gpu_link = machine->gpu_link;
  cluster.nics = machine->nics;
  cluster.nvlink_links = machine->nvlink_links;
  if (const auto nics = nics_in(fact(facts, "inter_node"))) {
    constexpr std::int64_t most_nics = 128;  // of a node: several times what any has
    constexpr std::int64_t most_gigabits = 100'000;
    if (nics->first < 1 || nics->first > most_nics || nics->second < 1 ||
        nics->second > most_gigabits) {
      return std::unexpected(fmt::format("inter_node {}: expected 1 to {} NICs of 1 to {} Gbit/s",
                                         simcore::quote(fact(facts, "inter_node")), most_nics,
                                         most_gigabits));
    }
    cluster.nics.count = nics->first;
    cluster.nics.bandwidth =
        simcore::BitRate::from_bits_per_second(static_cast<double>(nics->second) * 1e9);
  }
  constexpr std::int64_t most_trays = 18;  // of an NVL72
  cluster.nodes_per_domain = equal_domain(*nodes, most_trays);
  return made;
}

}  // namespace shardsim::scenario
