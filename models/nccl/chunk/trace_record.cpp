#include "models/nccl/chunk/trace_record.hpp"

#include <ostream>

#include <fmt/format.h>

namespace shardsim::nccl {

void write_trace_header(std::ostream& out) {
  out << "size,rank,channel,role,step,chunk,peer,bytes,action,start_us,end_us\n";
}

void write_trace_row(std::ostream& out, std::int64_t size, const TraceRecord& record,
                     const TraceTimes& times) {
  out << fmt::format("{},{},{},{},{},{},{},{},{},{:.6f},{:.6f}\n", size, record.rank,
                     record.channel, record.role, record.step, record.chunk, record.peer,
                     record.bytes, trace_action_names[static_cast<std::size_t>(record.action)],
                     times.start.microseconds(), times.end.microseconds());
}

}  // namespace shardsim::nccl
