#include "models/nccl/search_speeds.hpp"

#include <array>

namespace shardsim::nccl {
namespace {

constexpr auto ampere_intra = std::to_array<float>({40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3});
constexpr auto ampere_inter = std::to_array<float>(
    {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4F, 1.2F, 0.24F, 0.12F});

constexpr auto hopper_intra_2_18 = std::to_array<float>({60, 40, 30, 24, 20, 15, 12, 6, 3});
constexpr auto hopper_intra_2_19 = std::to_array<float>({60, 50, 40, 30, 24, 20, 15, 12, 6, 3});
constexpr auto hopper_intra = std::to_array<float>({60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3});
constexpr auto hopper_inter_2_18 = std::to_array<float>(
    {48, 45, 42, 40, 30, 24, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F});
constexpr auto hopper_inter = std::to_array<float>(
    {48, 45, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F});

constexpr auto blackwell_intra_2_25 =
    std::to_array<float>({90, 80, 70, 60, 50, 40, 30, 24, 20, 19});
constexpr auto blackwell_intra_2_27 =
    std::to_array<float>({90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18});
constexpr auto blackwell_intra =
    std::to_array<float>({90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18});
constexpr auto blackwell_inter_2_27 = std::to_array<float>(
    {96, 48, 45.1F, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F});
constexpr auto blackwell_inter_2_29 = std::to_array<float>(
    {96, 80, 48, 45.1F, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F});
constexpr auto blackwell_inter = std::to_array<float>(
    {96, 86, 80, 48, 45.1F, 42, 40, 30, 24, 22, 20, 17.5F, 15, 12, 6, 3, 2.4F, 1.2F, 0.24F, 0.12F});

std::span<const float> hopper(bool several_nodes, NcclVersion version) {
  const bool first = version < NcclVersion{19, 0};
  if (several_nodes) {
    if (first) return hopper_inter_2_18;
    return hopper_inter;
  }
  if (first) return hopper_intra_2_18;
  if (version < NcclVersion{21, 0}) return hopper_intra_2_19;
  return hopper_intra;
}

std::span<const float> blackwell(bool several_nodes, NcclVersion version) {
  if (several_nodes) {
    if (version < NcclVersion{27, 0}) return hopper_inter;
    if (version < NcclVersion{29, 7}) return blackwell_inter_2_27;
    if (version < NcclVersion{30, 0}) return blackwell_inter_2_29;
    return blackwell_inter;
  }
  if (version < NcclVersion{27, 0}) return blackwell_intra_2_25;
  if (version < NcclVersion{29, 0}) return blackwell_intra_2_27;
  return blackwell_intra;
}

}  // namespace

std::span<const float> search_speeds(int compute_capability, bool several_nodes,
                                     NcclVersion version) {
  if (compute_capability >= 100 && version >= NcclVersion{25, 0}) {
    return blackwell(several_nodes, version);
  }
  if (compute_capability >= 90) return hopper(several_nodes, version);
  if (several_nodes) return ampere_inter;
  return ampere_intra;
}

}  // namespace shardsim::nccl
