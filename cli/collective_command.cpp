#include "cli/collective_command.hpp"

#include <array>
#include <charconv>
#include <expected>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/budget.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/nccl_dump_files.hpp"
#include "cli/output_target.hpp"
#include "models/nccl/tuning_constants.hpp"
#include "models/scenario/chunk_work_file.hpp"
#include "models/scenario/collective_run.hpp"

namespace shardsim::cli {

namespace {

using cuda::CollectiveKind;
using Json = nlohmann::ordered_json;
using scenario::CollectiveRow;

constexpr int exit_success = 0;
constexpr int exit_impossible = 1;
constexpr int exit_bad_input = 2;

/// A collective with what nccl-tests prints for it.
struct Named {
  const char* name;
  CollectiveKind kind;
  const char* reduction;
  const char* root;
};
constexpr std::array collectives{
    Named{"all_reduce", CollectiveKind::all_reduce, "sum", "-1"},
    Named{"all_gather", CollectiveKind::all_gather, "none", "-1"},
    Named{"reduce_scatter", CollectiveKind::reduce_scatter, "sum", "-1"},
    Named{"broadcast", CollectiveKind::broadcast, "none", "0"},
    Named{"reduce", CollectiveKind::reduce, "sum", "0"},
    Named{"alltoall", CollectiveKind::alltoall, "none", "-1"},
    Named{"sendrecv", CollectiveKind::sendrecv, "none", "-1"}};

/// nccl-tests' names of types. 8-bit integers are treated as fp8: equally large, and neither is
/// reduced by NVLink switches.
const std::map<std::string, gpu::DataType> types{
    {"float", gpu::DataType::fp32},    {"half", gpu::DataType::fp16},
    {"bfloat16", gpu::DataType::bf16}, {"int8", gpu::DataType::fp8},
    {"uint8", gpu::DataType::fp8},     {"fp8_e4m3", gpu::DataType::fp8},
    {"fp8_e5m2", gpu::DataType::fp8}};
const std::map<std::string, scenario::LaunchMode> launch_modes{
    {"mpi", scenario::LaunchMode::mpi},
    {"threads", scenario::LaunchMode::threads},
    {"process", scenario::LaunchMode::process}};
const std::map<std::string, scenario::CollectiveFidelity> fidelities{
    {"model", scenario::CollectiveFidelity::model},
    {"flow", scenario::CollectiveFidelity::flow},
    {"chunk", scenario::CollectiveFidelity::chunk}};

struct CollectiveArguments {
  std::string name;
  ClusterArguments cluster;
  std::string begin = "8";
  std::string end = "8G";
  std::int64_t factor = 2;
  std::string algorithm;
  std::string protocol;
  std::string type = "float";
  std::string launch = "mpi";
  std::string fidelity = "flow";
  std::string json;
  std::string trace;
  std::string work;
  bool check = false;
  BudgetArguments budget;
};

/// "8", "4K", "128M", "8G" as nccl-tests reads them: powers of 1024.
std::optional<std::int64_t> parse_size(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || value <= 0) return std::nullopt;
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  constexpr std::array<std::pair<std::string_view, int>, 7> units{
      {{"", 0}, {"K", 10}, {"k", 10}, {"M", 20}, {"m", 20}, {"G", 30}, {"g", 30}}};
  for (const auto& [name, shift] : units) {
    if (unit != name) continue;
    if (value > (std::int64_t{1} << 50 >> shift)) return std::nullopt;
    return value << shift;
  }
  return std::nullopt;
}

std::string time_text(double us) {
  if (us >= 10'000) return fmt::format("{:.0f}", us);
  return us >= 100 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

class CollectiveCommand {
 public:
  explicit CollectiveCommand(CollectiveArguments arguments) : arguments_(std::move(arguments)) {}

  int run() {
    if (const auto limited = limit_memory(arguments_.budget.memory); !limited) {
      std::cerr << "shardsim collective: " << limited.error() << '\n';
      return exit_bad_input;
    }
    if ((!arguments_.trace.empty() || !arguments_.work.empty()) && arguments_.fidelity != "chunk") {
      std::cerr << "shardsim collective: --chunk-trace and --chunk-work need --fidelity chunk\n";
      return exit_bad_input;
    }
    if (!outputs_differ({})) return exit_bad_input;
    const bool messages =
        named().kind == CollectiveKind::alltoall || named().kind == CollectiveKind::sendrecv;
    if (messages && arguments_.fidelity == "model") {
      std::cerr << fmt::format(
          "shardsim collective: --fidelity model is NCCL's own estimate, of which it has none for "
          "the messages of {}: expected flow or chunk\n",
          arguments_.name);
      return exit_bad_input;
    }
    const auto begin = parse_size(arguments_.begin);
    const auto end = parse_size(arguments_.end);
    if (!begin || !end || *end < *begin) {
      std::cerr << "shardsim collective: -b and -e expect sizes such as 8, 4K, 128M, 8G, the "
                   "smaller one first\n";
      return exit_bad_input;
    }
    const std::vector<VariableOption> options{{"NCCL_ALGO", "--algo", arguments_.algorithm},
                                              {"NCCL_PROTO", "--proto", arguments_.protocol}};
    arguments_.cluster.limits = arguments_.budget.limits;
    Watchdog watchdog(deadline_, "collective");
    cluster_ = load_cluster(arguments_.cluster, options, "shardsim collective");
    if (!cluster_ || !outputs_differ(cluster_->setup.environment)) return exit_bad_input;
    simcore::Diagnostics known;  // there is nothing that load_cluster() has not told
    request_ = cluster_request(arguments_.cluster, options, known).request;
    warn_of_type();
    auto made = scenario::CollectiveRun::make(*cluster_);
    if (!made) return fail(made.error());
    const auto rows = measure(*made, *begin, *end);
    watchdog.call_off();
    if (!rows) return fail(rows.error());
    if (rows->empty()) {
      std::cerr << fmt::format(
          "shardsim collective: no size from -b {} to -e {} has an element of {} for each of {} "
          "ranks\n",
          arguments_.begin, arguments_.end, arguments_.type, cluster_->ranks());
      return exit_bad_input;
    }
    if (const auto done = write_nccl_dumps(*cluster_); !done) {
      std::cerr << "shardsim collective: " << done.error() << '\n';
      return exit_bad_input;
    }
    return write_all(*made, *rows);
  }

 private:
  bool outputs_differ(const nccl::Environment& environment) const {
    std::vector<NamedTarget> inputs = nccl_files_read(environment);
    inputs.push_back({"the topology", arguments_.cluster.topology});
    std::vector<NamedTarget> outputs = nccl_files_written(environment);
    outputs.insert(outputs.begin(), {{"--json", arguments_.json},
                                     {"--chunk-trace", arguments_.trace},
                                     {"--chunk-work", arguments_.work}});
    const auto differ = check_targets(inputs, outputs);
    if (!differ) std::cerr << "shardsim collective: " << differ.error() << '\n';
    return differ.has_value();
  }

  void warn_of_type() const {
    const nccl::NcclVersion version = cluster_->setup.version;
    if (!arguments_.type.starts_with("fp8") || version >= nccl::first_version_with_fp8) return;
    std::cerr << fmt::format(
        "shardsim collective: warning: NCCL {} has no type {}, which came with {}: it is timed as "
        "any type of one byte\n",
        nccl::to_text(version), arguments_.type, nccl::to_text(nccl::first_version_with_fp8));
  }

  int fail(const std::string& why) const {
    std::cerr << "shardsim collective: " << why << '\n'
              << not_written({{"--json", arguments_.json},
                              {"--chunk-trace", arguments_.trace},
                              {"--chunk-work", arguments_.work}});
    return exit_impossible;
  }

  scenario::CollectiveSettings settings() const {
    return {named().kind, types.at(arguments_.type), launch_modes.at(arguments_.launch),
            fidelities.at(arguments_.fidelity)};
  }
  const Named& named() const {
    return *std::ranges::find(collectives, arguments_.name, &Named::name);
  }

  /// The error says why there is nothing to print: nothing can be had, or no more is wanted.
  std::expected<std::vector<CollectiveRow>, std::string> measure(scenario::CollectiveRun& made,
                                                                 std::int64_t begin,
                                                                 std::int64_t end) {
    std::vector<CollectiveRow> rows;
    for (std::int64_t bytes = begin; bytes <= end; bytes *= arguments_.factor) {
      auto row = made.run(settings(), bytes);
      if (!row) return std::unexpected(row.error());
      if (*row && arguments_.check) {
        if (std::string wrong = check(made, **row); !wrong.empty()) return std::unexpected(wrong);
      }
      if (*row) rows.push_back(std::move(**row));
      if (bytes > end / arguments_.factor) break;
      if (const std::string why = used_up(made); !why.empty()) {
        return std::unexpected(
            fmt::format("stopped: {}, after {} of {} bytes", why, arguments_.name, bytes));
      }
    }
    return rows;
  }

  std::string used_up(const scenario::CollectiveRun& made) const {
    if (deadline_.over()) return deadline_.reason();
    const std::uint64_t most = arguments_.budget.events;
    if (most == 0 || made.messages() < most) return {};
    return fmt::format("--max-events {} is used up", most);
  }

  /// The first invariant that does not hold; empty: all do.
  std::string check(scenario::CollectiveRun& made, const CollectiveRow& row) {
    const auto events = made.check(settings(), row, log_);
    if (events) {
      checked_ += *events;
    } else {
      std::cerr << "note: " << events.error() << '\n';
    }
    return log_.violation() ? scenario::to_text(*log_.violation()) : std::string();
  }

  int write_all(scenario::CollectiveRun& made, const std::vector<CollectiveRow>& rows) const {
    for (const std::string& note : made.notes()) std::cerr << "note: " << note << '\n';
    if (!arguments_.trace.empty()) {
      const int status = write_trace(made, settings(), rows);
      if (status != exit_success) return status;
    }
    if (!arguments_.work.empty()) {
      const int status = write_work(made, settings(), rows);
      if (status != exit_success) return status;
    }
    return write(named(), rows) ? exit_success : exit_bad_input;
  }

  int write_work(scenario::CollectiveRun& made, const scenario::CollectiveSettings& settings,
                 const std::vector<CollectiveRow>& rows) const {
    std::vector<scenario::SizedWork> works;
    for (const CollectiveRow& row : rows) {
      auto work = made.work(settings, row.bytes);
      if (!work) return fail("no chunk work: " + work.error());
      works.push_back({row.bytes, std::move(*work)});
    }
    const auto done = write_document(arguments_.work, [&](std::ostream& out) {
      out << scenario::chunk_work_json({request_, settings}, works);
    });
    if (!done) std::cerr << "shardsim collective: " << done.error() << '\n';
    return done ? exit_success : exit_bad_input;
  }

  int write_trace(scenario::CollectiveRun& made, const scenario::CollectiveSettings& settings,
                  const std::vector<CollectiveRow>& rows) const {
    std::string why;
    const auto done = write_document(arguments_.trace, [&](std::ostream& out) {
      nccl::write_trace_header(out);
      for (const CollectiveRow& row : rows) {
        const auto traced = made.trace(
            settings, row.bytes,
            [&out, &row](const nccl::TraceRecord& record, const nccl::TraceTimes& times) {
              nccl::write_trace_row(out, row.bytes, record, times);
            });
        if (!traced && why.empty()) why = traced.error();
      }
    });
    if (!why.empty()) return fail("no chunk trace: " + why);
    if (!done) std::cerr << "shardsim collective: " << done.error() << '\n';
    return done ? exit_success : exit_bad_input;
  }

  bool write(const Named& named, const std::vector<CollectiveRow>& rows) const {
    bool written = true;
    if (!arguments_.json.empty()) {
      const auto done =
          write_document(arguments_.json, [&](std::ostream& out) { out << to_json(rows); });
      if (!done) std::cerr << "shardsim collective: " << done.error() << '\n';
      written = done.has_value();
    }
    const bool taken = arguments_.json == "-" || arguments_.trace == "-" || arguments_.work == "-";
    std::ostream& people = taken ? std::cerr : std::cout;
    people << table(named, rows);
    if (arguments_.check) {
      people << "# checks: " << scenario::to_text(log_.summary(checked_)) << '\n';
    }
    people.flush();
    return written;
  }

  static std::string to_json(const std::vector<CollectiveRow>& rows) {
    Json list = Json::array();
    for (const CollectiveRow& row : rows) {
      list.push_back({{"bytes", row.bytes},
                      {"time_us", row.time_us},
                      {"algbw", row.algbw},
                      {"busbw", row.busbw},
                      {"algorithm", row.algorithm},
                      {"protocol", row.protocol},
                      {"channels", row.channels},
                      {"threads", row.threads},
                      {"chunk_bytes", row.chunk_bytes}});
    }
    return Json{{"schema", "shardsim.collective/1"}, {"rows", std::move(list)}}.dump(1) + "\n";
  }

  /// The layout of nccl-tests: scripts read its columns. Nothing is checked, hence "N/A".
  std::string table(const Named& named, const std::vector<CollectiveRow>& rows) const {
    std::string text = fmt::format(
        "# shardsim: simulated {} on {}, NCCL {}, {} GPU{} on {} node{}, fidelity {}\n"
        "# nThread 1 nGpus 1 minBytes {} maxBytes {} step: {}(factor)\n#\n",
        named.name, cluster_->name, nccl::to_text(cluster_->setup.version), cluster_->ranks(),
        cluster_->ranks() == 1 ? "" : "s", cluster_->nodes(), cluster_->nodes() == 1 ? "" : "s",
        arguments_.fidelity, *parse_size(arguments_.begin), *parse_size(arguments_.end),
        arguments_.factor);
    constexpr std::string_view left = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}";
    text += fmt::format(left, "", "", "", "", "");
    text += "           out-of-place                       in-place          \n";
    text += fmt::format(left, "size", "count", "type", "redop", "root");
    text += fmt::format("  {0:>7}  {1:>6}  {2:>6} {3:>6}  {0:>7}  {1:>6}  {2:>6} {3:>6}\n", "time",
                        "algbw", "busbw", "#wrong");
    text += fmt::format(left, "(B)", "(elements)", "", "", "");
    text += fmt::format("  {0:>7}  {1:>6}  {1:>6}  {2:>5}  {0:>7}  {1:>6}  {1:>6}  {2:>5}\n",
                        "(us)", "(GB/s)", "");
    double sum = 0;
    for (const CollectiveRow& row : rows) {
      text += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.elements,
                          arguments_.type, named.reduction, named.root);
      const auto columns = [](double us, double algbw, double busbw) {
        return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>5}", time_text(us), algbw, busbw,
                           "N/A");
      };
      const bool moves = cluster_->ranks() > 1;  // in place a single GPU moves nothing
      text += columns(row.time_us, row.algbw, row.busbw);
      text += columns(row.in_place_us, moves ? row.algbw : 0, moves ? row.busbw : 0) + "\n";
      sum += row.busbw;
    }
    text += choices_text(rows);
    text += "# Out of bounds values : 0 OK\n";
    text += fmt::format("# Avg bus bandwidth    : {:g} \n#\n",
                        rows.empty() ? 0 : sum / static_cast<double>(rows.size()));
    return text;
  }

  /// Comments, since the table has no column for it: what carries out which sizes.
  static std::string choices_text(const std::vector<CollectiveRow>& rows) {
    const auto by = [](const CollectiveRow& row) {
      if (row.algorithm.empty()) return std::string("a copy: one GPU");
      const std::string channels =
          fmt::format("{} channel{}", row.channels, row.channels == 1 ? "" : "s");
      return fmt::format("{}{}{}, {}", row.algorithm, row.protocol.empty() ? "" : " ", row.protocol,
                         channels);
    };
    std::string text;
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t last = first;
      while (last + 1 < rows.size() && by(rows[last + 1]) == by(rows[first])) ++last;
      const std::string sizes =
          first == last ? fmt::format("{} B", rows[first].bytes)
                        : fmt::format("{} to {} B", rows[first].bytes, rows[last].bytes);
      text += fmt::format("# By {:<36} : {}\n", by(rows[first]), sizes);
      first = last + 1;
    }
    return text;
  }

  CollectiveArguments arguments_;
  Deadline deadline_{arguments_.budget.seconds};
  scenario::CheckLog log_;
  std::uint64_t checked_ = 0;
  scenario::ClusterRequest request_;
  std::unique_ptr<scenario::CollectiveCluster> cluster_;
};

template <class T>
std::vector<std::string> keys(const std::map<std::string, T>& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

}  // namespace

void add_collective_command(CommandLine& line) {
  auto arguments = std::make_shared<CollectiveArguments>();
  CLI::App* command = line.root().add_subcommand(
      "collective", "Time a collective for a range of sizes, as nccl-tests prints it");
  std::vector<std::string> names;
  for (const Named& one : collectives) names.emplace_back(one.name);
  CLI::Option* name = command->add_option("name", arguments->name, "The collective");
  allow_only(*name, names);
  name->required();
  command
      ->add_option("--topology", arguments->cluster.topology,
                   "Name or path of a topology YAML file, or an NCCL topology XML file")
      ->type_name(label::topology)
      ->required();
  add_cluster_options(*command, arguments->cluster);
  command
      ->add_option("-b,--minbytes", arguments->begin, "Smallest size; K, M, G are powers of 1024")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("-e,--maxbytes", arguments->end, "Largest size")
      ->type_name("SIZE")
      ->capture_default_str();
  CLI::Option* factor =
      command->add_option("-f,--stepfactor", arguments->factor, "Factor from one size to the next");
  expect_number(*factor, std::int64_t{2}, std::int64_t{1'000'000});
  factor->capture_default_str();
  command->add_option("--algo", arguments->algorithm, "NCCL_ALGO: Ring, Tree, NVLS, ...")
      ->type_name("ALGORITHM");
  command->add_option("--proto", arguments->protocol, "NCCL_PROTO")->type_name("LL|LL128|Simple");
  CLI::Option* type = command->add_option("-d,--datatype", arguments->type, "Type of the elements");
  allow_only(*type, keys(types));
  type->capture_default_str();
  CLI::Option* launch = command->add_option(
      "--launch", arguments->launch,
      "Who launches the kernels: a process (mpi) or thread for each GPU, or one thread for all "
      "GPUs of a node (process)");
  allow_only(*launch, keys(launch_modes));
  launch->capture_default_str();
  CLI::Option* fidelity = command->add_option(
      "--fidelity", arguments->fidelity,
      "flow: the data path; chunk: the same message by message; model: what NCCL itself expects");
  allow_only(*fidelity, keys(fidelities));
  fidelity->capture_default_str();
  command->add_option("--json", arguments->json, "Write the rows as JSON; '-': standard output")
      ->type_name(label::file);
  command
      ->add_option("--chunk-trace", arguments->trace,
                   "Write every message of fidelity chunk as CSV; see docs/chunk-trace.md")
      ->type_name(label::file);
  command
      ->add_option("--chunk-work", arguments->work,
                   "Write what NCCL's kernels are told (channels, chunks, rings, trees) as JSON "
                   "for the reference kernels; see docs/chunk-trace.md")
      ->type_name(label::file);
  command->add_flag("--check", arguments->check,
                    "Watch the simulator's invariants; one that does not hold ends the command "
                    "with a message and exit status 1");
  add_budget_options(*command, arguments->budget,
                     "Messages of fidelity chunk after which to stop, with exit status 1");
  line.describe(
      *command,
      {"Prints the table of nccl-tests: scripts that read theirs read this one. Algorithm, "
       "protocol, channels and chunks are those that NCCL chooses on that machine.",
       {{"An all-reduce on two DGX H100 from 8 bytes to 8 GiB",
         {"shardsim collective all_reduce --topology dgx-h100 --nodes 2 -b 8 -e 8G -f 2"}},
        {"With rings alone, as NCCL_ALGO=Ring would have it",
         {"shardsim collective all_gather --topology dgx-a100 -b 1M -e 256M -f 4 --algo Ring"}},
        {"Message by message, the rows as JSON",
         {"shardsim collective reduce_scatter --topology dgx-h100 -b 1M -e 16M -f 2 --fidelity "
          "chunk --json rows.json"}}}});
  command->callback([arguments, &line] {
    line.choose([arguments] { return CollectiveCommand(*arguments).run(); });
  });
}

}  // namespace shardsim::cli
