#include "cli/sweep_session.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/comparable_runs.hpp"
#include "cli/data_directory.hpp"
#include "cli/scenario_argument.hpp"
#include "cli/shard_environment.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// Without the bytes of a file its hash would be another sweep's.
void report_unreadable(const fs::path& file, const std::string& why,
                       simcore::Diagnostics& diagnostics) {
  diagnostics.error(
      {std::make_shared<simcore::SourceText>(simcore::SourceText{file.string(), ""}), 0, 0}, why);
}

/// Names and bytes of the folder's YAML files, in the order of their names. A file that is there
/// and cannot be read is an error; a link that leads nowhere, as editors leave them, is none.
std::uint64_t hash_folder(const fs::path& folder, std::uint64_t state,
                          simcore::Diagnostics& diagnostics) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().extension() == ".yaml") files.push_back(at->path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    report_unreadable(folder, "cannot be read: " + failed.message(), diagnostics);
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    state = scenario::hash_text(file.lexically_relative(folder).string(), state);
    const auto text = simcore::read_text_file(file, most_bytes);
    if (!text && simcore::is_text_file(file)) report_unreadable(file, text.error(), diagnostics);
    state = scenario::hash_text(text.value_or(""), state);
  }
  return state;
}

/// Files that a scenario names by path: a topology or a model beside it.
std::uint64_t hash_named_files(const simcore::ConfigNode& node, const fs::path& beside,
                               std::uint64_t state, simcore::Diagnostics& diagnostics) {
  for (const simcore::ConfigNode& item : node.items()) {
    state = hash_named_files(item, beside, state, diagnostics);
  }
  for (const simcore::ConfigEntry& entry : node.entries()) {
    state = hash_named_files(entry.value, beside, state, diagnostics);
  }
  if (!node.is_scalar() || !node.text().ends_with(".yaml")) return state;
  for (const fs::path& file : {beside / node.text(), fs::path(node.text())}) {
    const auto text = simcore::read_text_file(file, most_bytes);
    if (text) return scenario::hash_text(*text, state);
    if (!simcore::is_text_file(file)) continue;
    report_unreadable(file, text.error(), diagnostics);
    return state;
  }
  return state;
}

class SessionBuilder {
 public:
  SessionBuilder(const SweepArguments& arguments, bool rehearse_memory)
      : arguments_(arguments), salt_(scenario::hash_text(SHARDSIM_VERSION)) {
    made_.setting.version = SHARDSIM_VERSION;
    made_.setting.rehearse_memory = rehearse_memory;
    made_.setting.experiment.exact_ranks = arguments.exact_ranks;
    made_.setting.experiment.inputs = made_.inputs.get();
    made_.setting.experiment.limits = arguments.budget.limits;
    made_.setting.check = arguments.check;
    made_.setting.max_events = arguments.budget.events;
    salt_ = scenario::hash_text(rehearse_memory ? "rehearse" : "", salt_);
    salt_ = scenario::hash_text(arguments.exact_ranks ? "exact ranks" : "", salt_);
  }

  std::optional<SweepSession> build(const AxesFrom& further_axes) {
    const bool good = find_data() && read_prices() && read_measured() && plan(further_axes);
    std::cerr << simcore::to_text(diagnostics_, "shardsim sweep");
    if (!good || diagnostics_.has_errors() || !find_shard()) return std::nullopt;
    return std::move(made_);
  }

 private:
  bool find_data() {
    std::optional<fs::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const DataSearch search = current_data_search(data);
    const auto folders = find_data_directory(search);
    if (!folders) {
      std::cerr << "shardsim sweep: " << folders.error() << '\n';
      return false;
    }
    made_.data_folder = arguments_.data;
    made_.setting.experiment.data.topologies = folders->topologies;
    made_.setting.experiment.data.scenarios = folders->scenarios;
    salt_ = hash_folder(folders->topologies, salt_, diagnostics_);
    salt_ = hash_folder(made_.setting.experiment.data.models(), salt_, diagnostics_);
    auto residuals = read_residuals(search, diagnostics_);
    if (!residuals) return false;
    made_.setting.residuals = std::move(*residuals);
    salt_ = scenario::hash_text(scenario::to_csv(made_.setting.residuals), salt_);
    return true;
  }

  /// A path, or the name of a list that comes with the program.
  bool read_prices() {
    if (arguments_.prices.empty()) return true;
    fs::path file = arguments_.prices;
    if (!arguments_.prices.contains('/') && !arguments_.prices.ends_with(".yaml")) {
      const fs::path folder = made_.setting.experiment.data.scenarios / "prices";
      const std::vector<std::string> lists = simcore::file_stems(folder, ".yaml");
      if (std::ranges::find(lists, arguments_.prices) == lists.end()) return refuse_prices(lists);
      file = folder / (arguments_.prices + ".yaml");
    }
    made_.setting.prices = simcore::read_config_file<scenario::PriceList>(file, diagnostics_);
    if (!made_.setting.prices) return false;
    salt_ = scenario::hash_text(simcore::print_value(*made_.setting.prices), salt_);
    return true;
  }

  bool refuse_prices(const std::vector<std::string>& lists) {
    diagnostics_.error(
        {},
        fmt::format(
            "--prices: there is no list {}: expected {}, or a file NAME.yaml that says what "
            "an hour of a GPU costs, e.g. `gpus: {{H100-SXM5-80GB: {{per_gpu_hour: 2.95}}}}`",
            simcore::quote(arguments_.prices), fmt::join(lists, ", ")),
        simcore::nearest_name(arguments_.prices, lists));
    return false;
  }

  bool read_measured() {
    if (arguments_.measured.empty()) return true;
    made_.measured = MeasuredPoints::read(arguments_.measured, diagnostics_);
    if (!made_.measured) return false;
    if (made_.measured->size() == 0) {
      std::cerr << "shardsim sweep: --measured: no row has these values\n";
      return false;
    }
    salt_ = scenario::hash_text(made_.measured->text(), salt_);
    return true;
  }

  std::optional<std::vector<scenario::SweepAxis>> read_axes() {
    std::vector<scenario::SweepAxis> axes;
    bool good = true;
    for (const SweepArguments::Axis& given : arguments_.axes) {
      scenario::SweepAxis& axis = axes.emplace_back();
      const auto add = [&](const std::string& text, const char* option) {
        auto key = scenario::parse_axis_key(text, option, diagnostics_);
        if (key) axis.keys.push_back(std::move(*key));
        good &= key.has_value();
      };
      add(given.over, "--over");
      for (const std::string& text : given.with) add(text, "--with");
    }
    if (!good) return std::nullopt;
    return axes;
  }

  bool plan(const AxesFrom& further_axes) {
    std::vector<std::string> overrides = arguments_.overrides;
    if (!arguments_.fidelity.empty()) overrides.push_back("fidelity=" + arguments_.fidelity);
    const auto file = find_scenario(arguments_.scenario, made_.setting.experiment.data.scenarios);
    if (!file) {
      std::cerr << "shardsim sweep: " << file.error() << '\n';
      return false;
    }
    // Every point is read anew with its values, and warns of itself.
    simcore::Diagnostics of_base;
    auto loaded = scenario::load_scenario(*file, overrides, of_base);
    if (!loaded) std::cerr << simcore::to_text(of_base, "shardsim sweep");
    auto axes = read_axes();
    if (!loaded || !axes) return false;
    warn_of_lost_settings(loaded->spec.sweep);
    warn_of_lost_settings(*axes);
    if (axes->empty() && loaded->spec.sweep.empty() && further_axes) {
      *axes = further_axes(*loaded, made_.setting);
    }
    salt_ = hash_named_files(loaded->root, loaded->file.parent_path(), salt_, diagnostics_);
    made_.plan = scenario::plan_sweep(std::move(*loaded), std::move(*axes),
                                      fmt::format("{:016x}", salt_), diagnostics_);
    return made_.plan.has_value();
  }

  /// An axis gives its key, with all below it, a value at every point.
  void warn_of_lost_settings(const std::vector<scenario::SweepAxis>& axes) {
    for (const std::string& change : arguments_.overrides) {
      const std::string_view set = std::string_view(change).substr(0, change.find('='));
      for (const scenario::SweepAxis& axis : axes) {
        for (const scenario::AxisKey& key : axis.keys) {
          const bool below = set.starts_with(key.key + ".");
          if (set != key.key && !below) continue;
          diagnostics_.warning(
              {}, fmt::format("--set {}: has no effect, the axis {} gives it its values", change,
                              key.key));
        }
      }
    }
  }

  bool find_shard() {
    const auto found = choose_shard(arguments_.shard, current_environment());
    if (!found) {
      std::cerr << "shardsim sweep: --shard: " << found.error() << '\n';
      return false;
    }
    made_.shard = found->shard;
    made_.shard_from = found->from;
    return true;
  }

  const SweepArguments& arguments_;
  simcore::Diagnostics diagnostics_;
  std::uint64_t salt_;
  SweepSession made_;
};

}  // namespace

std::optional<SweepSession> open_session(const SweepArguments& arguments, bool rehearse_memory,
                                         const AxesFrom& further_axes) {
  return SessionBuilder(arguments, rehearse_memory).build(further_axes);
}

}  // namespace shardsim::cli
