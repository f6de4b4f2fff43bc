#include "models/scenario/timeline.hpp"

#include <algorithm>
#include <ostream>

#include <nlohmann/json.hpp>

namespace shardsim::scenario {

using cuda::OpCode;

void write_timeline(std::ostream& out, const std::vector<StepLog>& logs) {
  const char* separator = "";
  out << "[";
  for (const StepLog& log : logs) {
    const cuda::Program& program = *log.program;
    for (std::uint32_t op = log.first_op; op <= log.last_op; ++op) {
      if (!log.ran(op)) continue;
      const cuda::Op& entry = program.ops[op];
      const cuda::OpRecord& record = log.record(op);
      nlohmann::ordered_json line;
      line["rank"] = log.rank;
      line["stream"] = program.streams[entry.stream].name;
      line["communicator"] = nullptr;
      if (entry.code == OpCode::collective) {
        line["communicator"] = program.communicators[program.collectives[entry.index].communicator];
      }
      line["name"] = program.names[entry.name];
      line["cpu_issue_s"] = (record.cpu_issue - log.begin).seconds();
      line["start_s"] = (record.start - log.begin).seconds();
      line["end_s"] = (record.end - log.begin).seconds();
      out << separator << "\n  "
          << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      separator = ",";
    }
  }
  out << "\n]\n";
}

std::vector<std::vector<double>> stream_occupancy(const StepLog& log, int columns) {
  const auto count = static_cast<std::size_t>(columns);
  std::vector<std::vector<double>> busy(log.program->streams.size(),
                                        std::vector<double>(count, 0.0));
  const double step = static_cast<double>((log.end - log.begin).picoseconds());
  if (step <= 0) return busy;
  const double width = step / columns;
  for (std::uint32_t op = log.first_op; op <= log.last_op; ++op) {
    if (!log.ran(op)) continue;
    const double from = static_cast<double>((log.record(op).start - log.begin).picoseconds());
    const double to = static_cast<double>((log.record(op).end - log.begin).picoseconds());
    auto& row = busy[log.program->ops[op].stream];
    const auto first = std::min(count - 1, static_cast<std::size_t>(from / width));
    const auto last = std::min(count - 1, static_cast<std::size_t>(to / width));
    for (std::size_t column = first; column <= last; ++column) {
      const double left = std::max(from, static_cast<double>(column) * width);
      const double right = std::min(to, static_cast<double>(column + 1) * width);
      if (right > left) row[column] += (right - left) / width;
    }
  }
  return busy;
}

}  // namespace shardsim::scenario
