#include "cli/budget.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command_line.hpp"
#include "simcore/quantity_text.hpp"

namespace shardsim::cli {

namespace {

/// The number behind `key` in a file of /proc, in bytes.
std::optional<std::uint64_t> proc_bytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::uint64_t kibibytes = 0;
    if (rest >> kibibytes) return kibibytes << 10;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;  // "max" is none
  return std::nullopt;
}

/// Sum of the numbers behind two keys in a file of "key number" lines; what is missing counts
/// nothing.
std::uint64_t sum_in(const char* file, const std::string& first, const std::string& second) {
  std::ifstream in(file);
  std::uint64_t sum = 0;
  std::string key;
  for (std::uint64_t number = 0; in >> key >> number;) {
    if (key == first || key == second) sum += number;
  }
  return sum;
}

/// What is left to the group of processes that this one runs in, as a container has it. Files in
/// the page cache make room when it is needed.
std::optional<std::uint64_t> left_in_group() {
  struct Files {
    const char* most;
    const char* used;
    const char* parts;
    const char* cached[2];
  };
  for (const Files& files : {Files{"/sys/fs/cgroup/memory.max",
                                   "/sys/fs/cgroup/memory.current",
                                   "/sys/fs/cgroup/memory.stat",
                                   {"active_file", "inactive_file"}},
                             Files{"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                   "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                   "/sys/fs/cgroup/memory/memory.stat",
                                   {"total_active_file", "total_inactive_file"}}}) {
    const auto limit = number_in(files.most);
    const auto used = number_in(files.used);
    if (!limit || !used) continue;
    const std::uint64_t cached = sum_in(files.parts, files.cached[0], files.cached[1]);
    const std::uint64_t held = *used > cached ? *used - cached : 0;
    return *limit > held ? *limit - held : 0;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> left_on_machine() {
  auto left = proc_bytes("/proc/meminfo", "MemAvailable:");
  if (const auto group = left_in_group(); left && group) left = std::min(*left, *group);
  return left;
}

std::string memory_text(std::uint64_t bytes) {
  return simcore::format_rounded(static_cast<double>(bytes), simcore::bytes_kind());
}

/// Writes without allocating and ends the program.
[[noreturn]] void end_with(const char* text, std::size_t length) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text, length);
  _exit(1);
}

/// Whether the exception that nobody caught is a want of memory.
bool lacks_memory() {
  const std::exception_ptr now = std::current_exception();
  if (!now) return false;
  try {
    std::rethrow_exception(now);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void end_of_memory() {
  static constexpr char text[] =
      "shardsim: the run needs more memory than --max-memory allows; no output is written\n";
  if (lacks_memory()) end_with(text, sizeof text - 1);
  std::abort();
}

}  // namespace

void add_size_options(CLI::App& command, network::SizeLimits& limits) {
  constexpr std::int64_t most = 500'000'000;  // names have 32 bits
  CLI::Option* devices =
      command.add_option("--max-devices", limits.devices,
                         "Largest cluster in devices: GPUs, NICs, switches and CPUs of its nodes");
  expect_number(*devices, std::int64_t{1}, most);
  devices->capture_default_str();
  CLI::Option* cables =
      command.add_option("--max-cables", limits.cables, "Most cables between a cluster's switches");
  expect_number(*cables, std::int64_t{1}, most);
  cables->capture_default_str();
}

void add_budget_options(CLI::App& command, BudgetArguments& arguments, const std::string& of_what) {
  command
      .add_option("--max-memory", arguments.memory,
                  "Memory that the program may take, e.g. 4GiB, or unlimited; by default nine "
                  "tenths of what the machine has left. Beyond it: exit status 1")
      ->type_name("SIZE");
  CLI::Option* events = command.add_option("--max-events", arguments.events, of_what);
  expect_number(*events, std::uint64_t{1}, std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (arguments.events > 0) events->capture_default_str();
  CLI::Option* seconds =
      command.add_option("--max-time", arguments.seconds,
                         "Seconds of real time after which to stop, with exit status 1");
  expect_number(*seconds, 1e-3, 1e9);
  seconds->type_name("SECONDS");
  add_size_options(command, arguments.limits);
}

std::expected<void, std::string> limit_memory(const std::string& text) {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return {};
  if (text == "unlimited") {
    limit.rlim_cur = limit.rlim_max;
  } else {
    std::uint64_t bytes = 0;
    if (text.empty()) {
      const auto left = left_on_machine();
      if (!left) return {};
      bytes = *left / 10 * 9;
    } else {
      const auto read = simcore::parse_whole(text, simcore::bytes_kind(), simcore::Inexact::refuse);
      if (!read) return std::unexpected(fmt::format("--max-memory: {}", read.error()));
      constexpr std::int64_t least = std::int64_t{16} << 20;
      if (*read < least) {
        return std::unexpected(fmt::format("--max-memory: expected at least {}, found '{}'",
                                           memory_text(least), text));
      }
      bytes = static_cast<std::uint64_t>(*read);
    }
    // Counted on top of what there is: sanitizers reserve far more than machines have.
    const std::uint64_t base = proc_bytes("/proc/self/status", "VmData:").value_or(0);
    limit.rlim_cur = std::min<rlim_t>(base + bytes, limit.rlim_max);
  }
  setrlimit(RLIMIT_DATA, &limit);
  return {};
}

std::string out_of_memory_message() {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "this machine has too little memory for the run; no output is written";
  }
  // The limit itself has what the program held at its start on top of what was asked for.
  return "the run needs more memory than --max-memory allows; no output is written";
}

void say_so_at_the_end_of_memory() { std::set_terminate(end_of_memory); }

std::string Deadline::reason() const { return fmt::format("--max-time {:g} is used up", seconds_); }

Watchdog::Watchdog(const Deadline& deadline, const std::string& command,
                   const std::string& left_behind) {
  if (!deadline.limited()) return;
  constexpr double grace = 1;  // for work that asks by itself
  const std::chrono::duration<double> rest(
      std::max(0.0, deadline.seconds() + grace - deadline.elapsed()));
  thread_ = std::jthread([this, rest,
                          text = fmt::format("shardsim {}: stopped: {}; {}\n", command,
                                             deadline.reason(), left_behind)] {
    std::unique_lock lock(guard_);
    if (called_.wait_for(lock, rest, [this] { return called_off_; })) return;
    end_with(text.data(), text.size());
  });
}

void Watchdog::call_off() {
  const std::lock_guard lock(guard_);
  called_off_ = true;
  called_.notify_all();
}

}  // namespace shardsim::cli
