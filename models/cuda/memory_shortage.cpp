#include "models/cuda/memory_shortage.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::cuda {

namespace {

constexpr std::array<std::string_view, memory_kind_count> kind_names{
    "parameters",  "gradients",           "optimizer",
    "activations", "gathered parameters", "communication buffers",
    "other",
};

}  // namespace

std::string to_text(const MemoryShortage& shortage) {
  std::string text = fmt::format("out of memory: {} requested", to_text(shortage.requested));
  if (shortage.segment > shortage.requested) {
    text += fmt::format(" (a segment of {})", to_text(shortage.segment));
  }
  text += fmt::format(", {} of {} reserved: {} allocated", to_text(shortage.reserved),
                      to_text(shortage.capacity), to_text(shortage.allocated));
  std::string_view separator = " (";
  for (std::size_t kind = 0; kind < kind_names.size(); ++kind) {
    if (shortage.allocated_by_kind[kind].count == 0) continue;
    text += fmt::format("{}{} {}", separator, kind_names[kind],
                        to_text(shortage.allocated_by_kind[kind]));
    separator = ", ";
  }
  if (separator == ", ") text += ")";
  if (shortage.pending.count > 0) {
    text += fmt::format(", {} freed but in use on other streams", to_text(shortage.pending));
  }
  text += fmt::format(", {} cached, of which the largest block for this request is {}",
                      to_text(shortage.cached), to_text(shortage.largest_cached));
  return text;
}

}  // namespace shardsim::cuda
