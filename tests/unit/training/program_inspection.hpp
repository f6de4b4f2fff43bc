// What a recorded program asks for, without running it: bytes allocated in the CPU's order, and the
// collectives of each step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/cuda/program.hpp"

namespace shardsim::training {

/// Requested bytes by kind, before the allocator's rounding.
struct HeldMemory {
  std::array<std::int64_t, cuda::memory_kind_count> by_kind{};
  std::int64_t of(cuda::MemoryKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t bytes : by_kind) sum += bytes;
    return sum;
  }
};

struct InspectedCollective {
  std::string name;
  std::string communicator;
  cuda::CollectiveSpec spec;
};

struct InspectedStep {
  HeldMemory at_begin;
  HeldMemory at_end;
  HeldMemory peak;  ///< of the moment with the largest total
  std::array<std::int64_t, cuda::memory_kind_count> peak_by_kind{};
  std::vector<InspectedCollective> collectives;
  std::map<std::string, std::int64_t> copies;   ///< bytes by kernel name
  std::vector<std::string> order;               ///< names of kernels and collectives, as issued
  std::map<std::string, HeldMemory> at_kernel;  ///< as the last kernel of the name is issued
  /// Streams that record_stream named, by the tensor's name.
  std::map<std::string, std::set<std::string>> also_used_by;

  std::int64_t count(cuda::CollectiveKind kind) const {
    return std::ranges::count_if(collectives, [&](const auto& c) { return c.spec.kind == kind; });
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& collective : collectives) sum += collective.spec.bytes.count;
    return sum;
  }
  std::int64_t peak_of(cuda::MemoryKind kind) const {
    return peak_by_kind[static_cast<std::size_t>(kind)];
  }
};

/// Checks on the way that only live tensors are freed and only free ones allocated.
inline std::vector<InspectedStep> inspect(const cuda::Program& program) {
  std::vector<InspectedStep> steps;
  HeldMemory held;
  std::map<cuda::TensorId, cuda::AllocationSpec> live;
  const auto note_peak = [&] {
    if (steps.empty()) return;
    InspectedStep& step = steps.back();
    if (held.total() > step.peak.total()) step.peak = held;
    for (std::size_t kind = 0; kind < held.by_kind.size(); ++kind) {
      step.peak_by_kind[kind] = std::max(step.peak_by_kind[kind], held.by_kind[kind]);
    }
  };
  for (const cuda::Op& op : program.ops) {
    switch (op.code) {
      case cuda::OpCode::step_begin:
        steps.emplace_back();
        steps.back().at_begin = held;
        note_peak();
        break;
      case cuda::OpCode::step_end:
        steps.back().at_end = held;
        break;
      case cuda::OpCode::allocate: {
        const cuda::AllocationSpec& spec = program.allocations[op.name];
        REQUIRE(live.emplace(op.index, spec).second);
        held.by_kind[static_cast<std::size_t>(spec.kind)] += spec.bytes.count;
        note_peak();
        break;
      }
      case cuda::OpCode::free: {
        const auto found = live.find(op.index);
        REQUIRE(found != live.end());
        held.by_kind[static_cast<std::size_t>(found->second.kind)] -= found->second.bytes.count;
        live.erase(found);
        break;
      }
      case cuda::OpCode::record_stream:
        REQUIRE(live.contains(op.index));
        steps.back().also_used_by[program.names[live.at(op.index).name]].insert(
            program.streams[op.stream].name);
        break;
      case cuda::OpCode::collective: {
        const cuda::CollectiveSpec& spec = program.collectives[op.index];
        steps.back().collectives.push_back(
            {program.names[op.name], program.communicators[spec.communicator], spec});
        steps.back().order.push_back(program.names[op.name]);
        break;
      }
      case cuda::OpCode::kernel: {
        const auto* work = std::get_if<gpu::MemoryBoundWork>(&program.kernels[op.index].work);
        if (work) steps.back().copies[program.names[op.name]] += work->bytes.count;
        steps.back().order.push_back(program.names[op.name]);
        steps.back().at_kernel[program.names[op.name]] = held;
        break;
      }
      default:
        break;
    }
  }
  return steps;
}

}  // namespace shardsim::training
