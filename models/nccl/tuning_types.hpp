// Names of what NCCL chooses among: collectives, algorithms, protocols, in NCCL's own order, which
// decides ties.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardsim::nccl {

enum class Collective : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
enum class Algorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};
enum class Protocol : std::uint8_t { ll, ll128, simple };

inline constexpr std::array all_collectives{Collective::broadcast, Collective::reduce,
                                            Collective::all_gather, Collective::reduce_scatter,
                                            Collective::all_reduce};
inline constexpr std::array all_algorithms{Algorithm::tree,
                                           Algorithm::ring,
                                           Algorithm::collnet_direct,
                                           Algorithm::collnet_chain,
                                           Algorithm::nvls,
                                           Algorithm::nvls_tree,
                                           Algorithm::pat};
inline constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

/// An array indexed by an enumeration above.
template <class E, class T, std::size_t Count>
struct Per {
  std::array<T, Count> values{};
  constexpr T& operator[](E key) { return values[static_cast<std::size_t>(key)]; }
  constexpr const T& operator[](E key) const { return values[static_cast<std::size_t>(key)]; }
};
template <class T>
using PerCollective = Per<Collective, T, all_collectives.size()>;
template <class T>
using PerAlgorithm = Per<Algorithm, T, all_algorithms.size()>;
template <class T>
using PerProtocol = Per<Protocol, T, all_protocols.size()>;

inline constexpr PerCollective<std::string_view> collective_names{
    {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}};
inline constexpr PerAlgorithm<std::string_view> algorithm_names{
    {"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"}};
inline constexpr PerProtocol<std::string_view> protocol_names{{"LL", "LL128", "Simple"}};

constexpr std::string_view name(Collective collective) { return collective_names[collective]; }
constexpr std::string_view name(Algorithm algorithm) { return algorithm_names[algorithm]; }
constexpr std::string_view name(Protocol protocol) { return protocol_names[protocol]; }

/// All-gather and reduce-scatter: their large side holds a part for each rank.
constexpr bool has_part_per_rank(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}
constexpr bool is_collnet(Algorithm algorithm) {
  return algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
}
constexpr bool is_nvls(Algorithm algorithm) {
  return algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
}

}  // namespace shardsim::nccl
