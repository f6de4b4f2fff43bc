#include "models/training/operation_names.hpp"

#include <array>
#include <utility>

#include "models/training/workload.hpp"

namespace shardsim::training {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> abbreviations{{
    {"host_to_device", "H2D"},
    {"device_to_host", "D2H"},
    {"all_gather_copy_in", "CI"},
    {"all_gather", "AG"},
    {"prefetch_all_gather", "pAG"},
    {"all_gather_copy_out", "CO"},
    {"reduce_scatter_copy_in", "GCI"},
    {"reduce_scatter", "RS"},
    {"all_reduce", "AR"},
}};

std::string abbreviated(std::string_view operation) {
  for (const auto& [word, abbreviation] : abbreviations) {
    if (word == operation) return std::string(abbreviation);
  }
  return std::string(operation);
}

}  // namespace

std::string unit_name(int unit) {
  switch (unit) {
    case root_unit:
      return "R";
    case embedding_unit:
      return "E";
    case head_unit:
      return "H";
    default:
      return std::to_string(unit);
  }
}

std::string short_operation(std::string_view operation, int unit) {
  return abbreviated(operation) + unit_name(unit);
}

std::string bucket_operation(std::string_view operation, std::size_t bucket) {
  return "bucket" + std::to_string(bucket) + "." + std::string(operation);
}

}  // namespace shardsim::training
