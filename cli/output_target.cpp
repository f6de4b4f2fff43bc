#include "cli/output_target.hpp"

#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "cli/file_lock.hpp"
#include "simcore/output/atomic_file.hpp"

namespace shardsim::cli {

namespace {

std::string identity(const std::string& target) {
  if (target == "-") return target;
  std::error_code failed;
  // Absolute first: of a relative path of which nothing exists yet, nothing would be made
  // canonical.
  const std::filesystem::path canonical =
      std::filesystem::weakly_canonical(std::filesystem::absolute(target, failed), failed);
  return failed ? target : canonical.string();
}

/// What people write and commands read: topologies, models, rules, prices, NCCL's XML. The files
/// that NCCL's variables name for writing are such, too.
bool is_of_an_inputs_kind(const NamedTarget& output) {
  if (output.name.starts_with("NCCL_")) return false;
  const std::filesystem::path path(output.target);
  const std::string kind = path.extension().string();
  std::error_code failed;
  return (kind == ".yaml" || kind == ".yml" || kind == ".xml") &&
         std::filesystem::is_regular_file(path, failed);
}

}  // namespace

std::expected<void, std::string> check_targets(const std::vector<NamedTarget>& inputs,
                                               const std::vector<NamedTarget>& outputs) {
  std::map<std::string, std::string> read;
  for (const NamedTarget& one : inputs) {
    if (!one.target.empty() && one.target != "-") read.emplace(identity(one.target), one.name);
  }
  std::map<std::string, std::string> taken;
  for (const NamedTarget& one : outputs) {
    if (one.target.empty()) continue;
    if (const auto input = read.find(identity(one.target)); input != read.end()) {
      return std::unexpected(fmt::format("{} goes to '{}', which is {}: expected another file",
                                         one.name, one.target, input->second));
    }
    if (is_of_an_inputs_kind(one)) {
      return std::unexpected(
          fmt::format("{} goes to '{}', which is there already and of a kind that is read, not "
                      "written: expected another file",
                      one.name, one.target));
    }
    const auto [first, fresh] = taken.emplace(identity(one.target), one.name);
    if (fresh) continue;
    return std::unexpected(fmt::format("{} and {} both go to '{}': expected different files",
                                       first->second, one.name, one.target));
  }
  return {};
}

void fall_silent_without_reader() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) {
    std::cerr.setstate(std::ios_base::badbit);
  }
}

std::string not_written(const std::vector<NamedTarget>& outputs) {
  std::string text;
  bool file = false;
  for (const NamedTarget& one : outputs) {
    if (one.target.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "not written: " : ", ", one.name, one.target);
    file |= one.target != "-";
  }
  if (file) text += " (a file of that name stays as it was)";
  return text.empty() ? text : text + "\n";
}

std::expected<void, std::string> write_document(const std::string& target,
                                                const std::function<void(std::ostream&)>& write) {
  if (target == "-") {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) {
      fall_silent_without_reader();
      return std::unexpected(std::string("cannot write to standard output"));
    }
    return {};
  }
  const auto lock = FileLock::take(target, Sharing::exclusive);
  if (!lock) return std::unexpected(lock.error());
  auto file = simcore::AtomicFile::create(target);
  if (!file) return std::unexpected(file.error());
  write(file->stream());
  return file->commit();
}

}  // namespace shardsim::cli
