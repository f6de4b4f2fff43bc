#include "cli/sweep_submit.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>

#include "cli/output_target.hpp"
#include "cli/shell_text.hpp"

namespace shardsim::cli {

namespace {

namespace fs = std::filesystem;

/// Slurm's own limit on the size of an array unless it is set up otherwise (MaxArraySize).
constexpr std::int64_t most_tasks = 1000;

/// Seconds of the first, a middle and the last point, one after the other.
double measure_sample(const SweepSession& session) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t last = session.plan->size() - 1;
  const std::set<std::int64_t> sample{0, last / 2, last};
  const auto begun = Clock::now();
  for (const std::int64_t index : sample) {
    const auto outcome = scenario::run_point(*session.plan, index, session.setting);
    (void)scenario::point_line(*session.plan, index, outcome, session.setting);
  }
  return std::chrono::duration<double>(Clock::now() - begun).count() /
         static_cast<double>(sample.size());
}

std::string own_program() {
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "shardsim" : path.string();
}

/// The sweep itself, without where its output goes.
std::string sweep_command(const SweepArguments& arguments, int threads) {
  std::string text = shell_quoted(own_program()) + " sweep " + shell_quoted(arguments.scenario);
  const auto add = [&text](const char* option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, shell_quoted(value));
  };
  for (const std::string& one : arguments.overrides) add("--set", one);
  for (const SweepArguments::Axis& axis : arguments.axes) {
    add("--over", axis.over);
    for (const std::string& one : axis.with) add("--with", one);
  }
  add("--fidelity", arguments.fidelity);
  add("--data", arguments.data);
  add("--prices", arguments.prices);
  for (const std::string& one : arguments.measured) add("--measured", one);
  if (arguments.exact_ranks) text += " --exact-ranks";
  if (arguments.check) text += " --check";
  add("--max-memory", arguments.budget.memory);
  if (arguments.budget.events > 0) text += fmt::format(" --max-events {}", arguments.budget.events);
  if (arguments.budget.seconds > 0) text += fmt::format(" --max-time {}", arguments.budget.seconds);
  return text + fmt::format(" --quiet --resume -j {}", threads);
}

class Submission {
 public:
  Submission(const SweepArguments& arguments, const SweepSession& session, int threads)
      : arguments_(arguments),
        session_(session),
        threads_(threads),
        folder_((arguments.json.empty() ? arguments.csv : arguments.json) + ".slurm") {}

  std::expected<void, std::string> submit() {
    std::error_code lost;
    working_folder_ = fs::current_path(lost);
    if (lost) {
      return std::unexpected(
          fmt::format("cannot tell the folder that this is run in: {}", lost.message()));
    }
    folder_ = working_folder_ / folder_;
    choose_tasks();
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (failed) {
      return std::unexpected(
          fmt::format("cannot make the folder '{}': {}", folder_.string(), failed.message()));
    }
    for (const auto& [name, text] :
         {std::pair{"points.sh", array_script()}, std::pair{"merge.sh", merge_script()}}) {
      const auto written =
          write_document((folder_ / name).string(), [&](std::ostream& out) { out << text; });
      if (!written) return written;
    }
    if (arguments_.dry_run) {
      std::cout << fmt::format("wrote {0}/points.sh and {0}/merge.sh; nothing submitted\n",
                               folder_.string());
      return {};
    }
    return submit_scripts();
  }

 private:
  void choose_tasks() {
    tasks_ = std::min(arguments_.tasks, session_.plan->size());
    if (tasks_ > 0) return;
    const double seconds = measure_sample(session_);
    tasks_ = tasks_for(session_.plan->size(), seconds, threads_, arguments_.task_minutes);
    std::cout << fmt::format("a point takes about {:.3g} s: {} points make {} tasks of {} cores\n",
                             seconds, session_.plan->size(), tasks_, threads_);
  }

  std::string header(const std::string& name, const std::string& log) const {
    std::string text = "#!/bin/bash\n";
    text += fmt::format("#SBATCH --job-name={}\n", name);
    text += fmt::format("#SBATCH --output={}\n", (folder_ / log).string());
    text += fmt::format("#SBATCH --chdir={}\n", working_folder_.string());
    return text + "#SBATCH --ntasks=1\n";
  }

  /// A task that is requeued goes on where it was.
  std::string array_script() const {
    std::string text = header("shardsim-points", "task-%a.log");
    text += fmt::format("#SBATCH --array=1-{}\n", tasks_);
    text += fmt::format("#SBATCH --cpus-per-task={}\n", threads_);
    text += fmt::format(
        "exec {} \\\n  --shard \"$SLURM_ARRAY_TASK_ID/{}\" --json "
        "{}/part-\"$SLURM_ARRAY_TASK_ID\".jsonl\n",
        sweep_command(arguments_, threads_), tasks_, shell_quoted(folder_.string()));
    return text;
  }

  std::string merge_script() const {
    std::string text = header("shardsim-merge", "merge.log");
    text += fmt::format("exec {} merge --quiet", shell_quoted(own_program()));
    if (!arguments_.json.empty()) text += " --json " + shell_quoted(arguments_.json);
    if (!arguments_.csv.empty()) text += " --csv " + shell_quoted(arguments_.csv);
    if (!arguments_.report.empty()) text += " --report " + shell_quoted(arguments_.report);
    for (std::int64_t task = 1; task <= tasks_; ++task) {
      text += fmt::format(" \\\n  {}/part-{}.jsonl", shell_quoted(folder_.string()), task);
    }
    return text + "\n";
  }

  std::expected<void, std::string> submit_scripts() const {
    // Parts of an earlier sweep would be taken for this one's.
    for (std::int64_t task = 1; task <= tasks_ && !arguments_.resume; ++task) {
      std::error_code ignored;
      fs::remove(folder_ / fmt::format("part-{}.jsonl", task), ignored);
    }
    const auto points = sbatch("points.sh", "");
    if (!points) return std::unexpected(points.error());
    const auto merge = sbatch(
        "merge.sh", fmt::format(" --dependency=afterok:{} --kill-on-invalid-dep=yes", *points));
    if (!merge) return std::unexpected(merge.error());
    std::cout << fmt::format(
        "submitted job {} ({} tasks) and job {}, which merges them; watch with: squeue -j {},{}\n",
        *points, tasks_, *merge, *points, *merge);
    return {};
  }

  /// The number of the job.
  std::expected<std::string, std::string> sbatch(const char* script,
                                                 const std::string& options) const {
    std::string command = "sbatch --parsable";
    for (const std::string& one : arguments_.scheduler_options) command += " " + shell_quoted(one);
    command += options + " " + shell_quoted((folder_ / script).string());
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return std::unexpected(std::string("cannot start sbatch"));
    std::string output;
    std::array<char, 256> piece{};
    while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) output += piece.data();
    const int status = pclose(pipe);
    if (status != 0) {
      return std::unexpected(WIFEXITED(status) && WEXITSTATUS(status) == 127
                                 ? std::string("there is no sbatch here: run this where jobs are "
                                               "submitted, or with --dry-run")
                                 : std::string("sbatch refused the job; it says why above"));
    }
    return output.substr(0, output.find_first_of(";\n"));
  }

  const SweepArguments& arguments_;
  const SweepSession& session_;
  int threads_;
  fs::path folder_;
  fs::path working_folder_;
  std::int64_t tasks_ = 1;
};

}  // namespace

std::int64_t tasks_for(std::int64_t points, double seconds_per_point, int threads,
                       double task_minutes) {
  constexpr double seconds_per_minute = 60;
  const double total = static_cast<double>(points) * seconds_per_point;
  const double tasks = std::ceil(total / (task_minutes * seconds_per_minute * threads));
  const auto most = std::min(points, most_tasks);
  return tasks >= static_cast<double>(most) ? most : std::max<std::int64_t>(1, std::llround(tasks));
}

std::expected<void, std::string> submit_to_slurm(const SweepArguments& arguments,
                                                 const SweepSession& session, int threads) {
  return Submission(arguments, session, threads).submit();
}

}  // namespace shardsim::cli
