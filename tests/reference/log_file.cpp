#include "tests/reference/log_file.hpp"

#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/format.h>

namespace shardsim::reference {

void write_log_header(std::ostream& out) {
  out << "size,rank,channel,role,step,chunk,peer,bytes,action,start_us,end_us\n";
}

void write_log(std::ostream& out, std::int64_t size, const std::vector<TeamLog>& teams) {
  constexpr std::array names{"send", "receive", "reduce", "copy"};
  std::uint64_t first = UINT64_MAX;
  for (const TeamLog& team : teams) {
    for (const LogRow& row : team.rows) first = std::min(first, row.start_ns);
  }
  const auto us = [first](std::uint64_t ns) { return static_cast<double>(ns - first) * 1e-3; };
  for (const TeamLog& team : teams) {
    for (const LogRow& row : team.rows) {
      out << fmt::format("{},{},{},{},{},{},{},{},{},{:.6f},{:.6f}\n", size, team.rank,
                         team.channel, team.role, row.step, row.chunk, row.peer, row.bytes,
                         names[static_cast<std::size_t>(row.action)], us(row.start_ns),
                         us(row.end_ns));
    }
  }
}

}  // namespace shardsim::reference
