#include "tests/reference/cpu_run.hpp"

#include <new>
#include <thread>

#include <sys/mman.h>

#include "tests/reference/cpu_team.hpp"
#include "tests/reference/programs.hpp"

namespace shardsim::reference {

namespace {

/// Memory that is zero; pages that are not touched take no room.
class ZeroedMemory {
 public:
  explicit ZeroedMemory(std::size_t bytes) : bytes_(bytes + 1) {
    void* const got = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(got);
  }
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;
  ~ZeroedMemory() { munmap(begin_, bytes_); }
  std::byte* begin() const { return begin_; }

 private:
  std::size_t bytes_;
  std::byte* begin_ = nullptr;
};

/// Counters of a connection, each on a cache line of its own.
struct Counters {
  alignas(64) std::uint64_t tail = 0;
  alignas(64) std::uint64_t head = 0;
};

}  // namespace

std::vector<TeamLog> run_on_cpu(const Plan& plan, const std::vector<RankMemory>& ranks) {
  const auto connections = static_cast<std::size_t>(plan.connections);
  const auto each = static_cast<std::size_t>(plan.connection_bytes + 4095) / 4096 * 4096;
  const ZeroedMemory fifos(connections * each);
  std::vector<Counters> counters(connections);
  std::vector<Link> links;
  for (const LinkEnd& end : plan.links) {
    const auto c = static_cast<std::size_t>(end.connection);
    links.push_back({fifos.begin() + c * each, &counters[c].tail, &counters[c].head, end.peer});
  }
  std::vector<TeamLog> logs;
  std::vector<TeamWork> works;
  for (const TeamPlan& team : plan.teams) {
    logs.push_back({team.work.rank, team.work.channel, team.work.role, {}});
    logs.back().rows.resize(static_cast<std::size_t>(team.rows));
    TeamWork& work = works.emplace_back(team.work);
    work.ring = plan.rings.data() + team.ring;
    work.inputs = links.data() + team.first_input;
    work.outputs = links.data() + team.first_output;
    work.messages = plan.messages.data() + team.first_message;
    work.source = ranks[static_cast<std::size_t>(work.rank)].source;
    work.target = ranks[static_cast<std::size_t>(work.rank)].target;
    work.row_limit = team.rows;
  }
  for (std::size_t t = 0; t < works.size(); ++t) works[t].rows = logs[t].rows.data();
  std::vector<std::thread> threads;
  for (TeamWork& work : works) {
    threads.emplace_back([&work] {
      CpuTeam team;
      Mover mover(team, work);
      Program(mover, work).run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return logs;
}

}  // namespace shardsim::reference
