// The environment variables of NCCL that people set, read into typed values.
//
// A variable that is not set is empty: its default depends on the version and the machine and is
// where it is used. Integers are read as NCCL does (decimal, 0x.., 0..), but what NCCL would take
// for 0 or quietly clamp is reported.
// Source: NVIDIA/nccl 2.30.7, NCCL_PARAM and ncclGetEnv throughout src/; its user guide.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/environment_lists.hpp"
#include "models/nccl/nccl_version.hpp"
#include "models/nccl/path_type.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

using Setting = std::optional<std::int64_t>;
using TextSetting = std::optional<std::string>;

struct Environment {
  // Algorithm, protocol, threads.
  Permissions permissions;     ///< NCCL_ALGO, NCCL_PROTO
  bool algorithm_set = false;  ///< NCCL_ALGO is given
  bool protocol_set = false;   ///< NCCL_PROTO is given
  Setting threads;             ///< NCCL_NTHREADS
  Setting ll128_threads;       ///< NCCL_LL128_NTHREADS
  /// NCCL_THREAD_THRESHOLDS: tree LL, LL128, Simple, ring LL, LL128, Simple; negative: default.
  std::array<std::int64_t, 6> thread_thresholds{-2, -2, -2, -2, -2, -2};
  Setting pat_enable;   ///< 0, 1, 2: where it fits
  Setting nvls_enable;  ///< 0, 1, 2: where it is there
  Setting collnet_enable;
  Setting collnet_node_threshold;
  Setting net_overhead_ns;
  Setting ll128_c2c;
  TextSetting tuner_plugin;
  Setting cta_policy;  ///< 0 default, 1 efficiency, 2 zero; bits

  // Sizes in bytes.
  Setting buffer_bytes;  ///< NCCL_BUFFSIZE: Simple, of a channel
  Setting ll_buffer_bytes;
  Setting ll128_buffer_bytes;
  Setting p2p_net_chunk_bytes;
  Setting p2p_pci_chunk_bytes;
  Setting p2p_nvl_chunk_bytes;
  Setting p2p_ll_threshold_bytes;
  Setting chunk_bytes;  ///< NCCL_CHUNK_SIZE
  Setting nvls_chunk_bytes;
  Setting nvls_tree_chunk_bytes;  ///< NCCL_NVLSTREE_MAX_CHUNKSIZE

  // Channels. NCCL_MIN_NRINGS and NCCL_MAX_NRINGS are the older names of the first two.
  Setting least_channels;
  Setting most_channels;
  Setting least_ctas;
  Setting most_ctas;
  Setting nvls_channels;
  Setting least_p2p_channels;
  Setting most_p2p_channels;
  Setting channels_per_net_peer;
  Setting cga_cluster_size;
  Setting p2p_per_channel_net_bw;  ///< GB/s
  Setting p2p_schedule_group_size;
  Setting unpack_double_channels;

  // Topology and graph search.
  TextSetting topology_file;
  TextSetting topology_dump_file;
  TextSetting graph_file;
  TextSetting graph_dump_file;
  Setting cross_nic;                  ///< 0 never, 1 always, 2 if it must
  std::optional<PathType> p2p_level;  ///< GPUs reach each other's memory up to here
  Setting p2p_disable;
  Setting nvb_disable;
  Setting shm_disable;
  std::optional<PathType> net_gdr_level;  ///< NICs reach GPU memory up to here
  Setting net_gdr_read;
  Setting net_gdr_c2c;
  Setting pxn_disable;
  Setting p2p_pxn_level;
  Setting pxn_c2c;
  TextSetting netdevs_policy;  ///< AUTO, ALL, MAX:n
  Setting ib_merge_nics;
  Setting mnnvl_enable;
  TextSetting host_id;
  Setting ignore_cpu_affinity;
  TextSetting ib_hca;
  TextSetting socket_interface;
  TextSetting network;  ///< NCCL_NET: "IB", "Socket", a plugin's name

  // Network.
  Setting ib_disable;
  Setting ib_qps_per_connection;
  Setting ib_split_data_on_qps;
  Setting ib_adaptive_routing_threshold_bytes;
  Setting net_shared_buffers;
  Setting net_shared_comms;
  Setting socket_threads;
  Setting sockets_per_thread;

  // Registration and newer modes.
  Setting graph_register;
  Setting local_register;
  Setting window_enable;
  TextSetting symmetric_kernel;
  Setting symmetric_ctas;
  Setting symmetric_without_window;
  Setting symmetric_copy_engine_threshold;
  Setting symmetric_tma;
  Setting all_gather_v_enable;
  Setting runtime_connect;
};

/// Where the value of a variable of that name stands; none: nowhere in a file.
using VariablePlaces = std::function<simcore::SourceLocation(std::string_view name)>;

/// Every value is checked here, and problems are reported at its place: a value that NCCL cannot
/// have is an error; one that it would quietly take for another, one without an effect in this
/// model, an empty one and a name that NCCL does not have are warnings.
Environment read_environment(const std::map<std::string, std::string>& variables,
                             NcclVersion version, const VariablePlaces& places,
                             simcore::Diagnostics& diagnostics);

/// Whether NCCL could have such a variable.
bool is_nccl_name(std::string_view name);
/// The known variable with the nearest name; empty if none is near.
std::string nearest_nccl_name(const std::string& name);

/// "PIX", or the numbers that older releases took for it.
std::optional<PathType> parse_path_level(std::string_view text);

}  // namespace shardsim::nccl
