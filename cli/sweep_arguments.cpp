#include "cli/sweep_arguments.hpp"

namespace shardsim::cli {

SweepOptions::SweepOptions(CLI::App& command, SweepArguments& arguments)
    : command_(command), arguments_(arguments) {
  command
      .add_option("scenario", arguments.scenario,
                  "A YAML file, or the name of a scenario that comes with the program")
      ->type_name(label::scenario)
      ->required();
  command.add_option("--set", arguments.overrides, "Set a key of the scenario")
      ->type_name(label::setting)
      ->take_all()
      ->allow_extra_args(false);
  over_option_ = command.add_option("--over", over_,
                                    "An axis: KEY=V1,V2,... or a range, KEY=1..64*2, KEY=1..9+2; "
                                    "axes are crossed, after those of the scenario's 'sweep:'");
  over_option_->type_name(label::axis)->take_all()->allow_extra_args(false);
  with_option_ =
      command.add_option("--with", with_, "A key that goes along with the --over before it");
  with_option_->type_name(label::axis)->take_all()->allow_extra_args(false);
  expect_number(*command.add_option("-j,--jobs", arguments.threads,
                                    "Points run side by side; by default as many as there are "
                                    "cores"),
                1, 1024);
  command.add_option("--fidelity", arguments.fidelity, "How collectives are simulated")
      ->type_name("model|flow|chunk");
  command.add_flag("--exact-ranks", arguments.exact_ranks,
                   "Simulate every rank instead of one of each kind");
  expect_name(
      *command.add_option("--data", arguments.data, "Folder that holds topologies/ and scenarios/"),
      label::folder);
  command.add_flag("--check", arguments.check,
                   "Watch the simulator's invariants in every point; one that does not hold fails "
                   "its point and makes the exit status 1");
  add_budget_options(command, arguments.budget,
                     "Events of a point after which it is given up; the sweep goes on");
  add_outputs();
  add_answers();
  add_schedulers();
}

void SweepOptions::add_outputs() {
  const auto add = [this](const char* name, std::string& target, const char* what) {
    expect_name(*command_.add_option(name, target, what), label::file);
  };
  add("--json", arguments_.json, "Write every point as a line of JSON");
  add("--csv", arguments_.csv, "Write the points as CSV");
  add("--report", arguments_.report,
      "Write a page with charts of the points that opens without a network (HTML)");
  command_.add_flag("--resume", arguments_.resume,
                    "Keep the points that are in the file already; run those that are missing");
  expect_name(
      *command_.add_option("--prices", arguments_.prices,
                           "Prices per GPU-hour (YAML, or the name of a shipped list): adds cost"),
      label::prices);
  command_
      .add_option("--measured", arguments_.measured,
                  "Measured points of the same runs (CSV with gpus and throughput_per_gpu), put "
                  "beside points with as many GPUs; FILE or FILE:COLUMN=VALUE,...")
      ->type_name(label::file)
      ->allow_extra_args(false);
  command_
      .add_option("--plot", arguments_.plot,
                  "Draw a figure over the first axis; by default tokens_per_s")
      ->type_name(label::figure)
      ->expected(0, 1)
      ->default_str("throughput.tokens_per_s");
  command_.add_flag("--quiet", arguments_.quiet, "No table");
}

void SweepOptions::add_answers() {
  CLI::Option* best = command_.add_option(
      "--best", arguments_.best,
      "Find the point that is best in this figure, and the Pareto front; without axes, over "
      "strategies, checkpointing and micro-batches that are powers of two, or that divide the "
      "batch "
      "where gradients are accumulated");
  expect_name(*best, label::figure);
  CLI::Option* target = command_.add_option(
      "--target", arguments_.target,
      "Find the smallest cluster with which this holds, e.g. 'step.time_s < 3 s'");
  expect_name(*target, "CONDITION");
  target->excludes(best);
  command_
      .add_option("--subject-to", arguments_.subject_to,
                  "What else must hold, e.g. memory.fits or 'cluster.gpus <= 64'")
      ->type_name("CONDITION")
      ->take_all()
      ->allow_extra_args(false);
  CLI::Option* hold = command_.add_option(
      "--hold", arguments_.hold,
      "What stays as the cluster grows under --target: the global batch (strong scaling; default "
      "for conditions on the step) or each GPU's (weak scaling; default for all others)");
  allow_only(*hold, {"global-batch", "micro-batch"});
  hold->needs(target);
}

void SweepOptions::add_schedulers() {
  command_
      .add_option("--shard", arguments_.shard,
                  "Run part I of N; auto, auto/N: as the scheduler's environment says")
      ->type_name("I/N");
  CLI::Option* submit =
      command_.add_option("--submit", arguments_.submit, "Submit as a job array of this scheduler");
  allow_only(*submit, {"slurm"});
  CLI::Option* tasks =
      command_.add_option("--tasks", arguments_.tasks,
                          "Tasks of the array; by default so many that each takes minutes");
  expect_number(*tasks, std::int64_t{1}, std::int64_t{1'000'000});
  tasks->needs(submit);
  CLI::Option* minutes =
      command_.add_option("--task-minutes", arguments_.task_minutes, "How long a task should take");
  expect_number(*minutes, 0.1, 10'000.0);
  minutes->needs(submit);
  command_
      .add_option("--scheduler-option", arguments_.scheduler_options,
                  "Passed on to sbatch, e.g. --scheduler-option=--partition=short")
      ->type_name("OPTION")
      ->take_all()
      ->allow_extra_args(false)
      ->needs(submit);
  command_.add_flag("--dry-run", arguments_.dry_run, "Write the job scripts, submit nothing")
      ->needs(submit);
}

std::string SweepOptions::finish() {
  std::size_t over = 0;
  std::size_t with = 0;
  arguments_.axes.clear();
  for (const CLI::Option* option : command_.parse_order()) {
    if (option == over_option_) {
      arguments_.axes.push_back({over_[over++], {}});
    } else if (option == with_option_) {
      if (arguments_.axes.empty()) return "--with: expected an --over before it";
      arguments_.axes.back().with.push_back(with_[with++]);
    }
  }
  return {};
}

}  // namespace shardsim::cli
