#include "models/nccl/environment.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {

using simcore::quote;

namespace {

/// A buffer's eight steps, and a chunk, hold whole grains of what is copied at once.
constexpr std::int64_t least_buffer = std::int64_t{8} * 512;
constexpr std::int64_t least_ll128_buffer = std::int64_t{8} * 2048;
constexpr std::int64_t least_chunk = 512;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
/// NCCL keeps sizes of buffers and chunks, and most counts, in an int.
constexpr std::int64_t most_int = std::numeric_limits<int>::max();

struct NumberVariable {
  std::string_view name;
  Setting Environment::* setting;
  std::int64_t least;  ///< NCCL means "not set" by -2; the negative is accepted besides
  std::int64_t most;
};
constexpr std::array number_variables{
    NumberVariable{"NCCL_NTHREADS", &Environment::threads, 64, 512},
    NumberVariable{"NCCL_LL128_NTHREADS", &Environment::ll128_threads, 160, 640},
    NumberVariable{"NCCL_PAT_ENABLE", &Environment::pat_enable, 0, 2},
    NumberVariable{"NCCL_NVLS_ENABLE", &Environment::nvls_enable, 0, 2},
    NumberVariable{"NCCL_COLLNET_ENABLE", &Environment::collnet_enable, 0, 1},
    NumberVariable{"NCCL_COLLNET_NODE_THRESHOLD", &Environment::collnet_node_threshold, 0,
                   most_int},
    NumberVariable{"NCCL_NET_OVERHEAD", &Environment::net_overhead_ns, 0, most_int},
    NumberVariable{"NCCL_LL128_C2C", &Environment::ll128_c2c, 0, 1},
    NumberVariable{"NCCL_BUFFSIZE", &Environment::buffer_bytes, least_buffer, most_int},
    NumberVariable{"NCCL_LL_BUFFSIZE", &Environment::ll_buffer_bytes, least_buffer, most_int},
    NumberVariable{"NCCL_LL128_BUFFSIZE", &Environment::ll128_buffer_bytes, least_ll128_buffer,
                   most_int},
    NumberVariable{"NCCL_P2P_NET_CHUNKSIZE", &Environment::p2p_net_chunk_bytes, least_chunk,
                   most_int},
    NumberVariable{"NCCL_P2P_PCI_CHUNKSIZE", &Environment::p2p_pci_chunk_bytes, least_chunk,
                   most_int},
    NumberVariable{"NCCL_P2P_NVL_CHUNKSIZE", &Environment::p2p_nvl_chunk_bytes, least_chunk,
                   most_int},
    NumberVariable{"NCCL_P2P_LL_THRESHOLD", &Environment::p2p_ll_threshold_bytes, 0, no_limit},
    NumberVariable{"NCCL_CHUNK_SIZE", &Environment::chunk_bytes, 0, most_int},
    NumberVariable{"NCCL_NVLS_CHUNKSIZE", &Environment::nvls_chunk_bytes, least_chunk, most_int},
    NumberVariable{"NCCL_NVLSTREE_MAX_CHUNKSIZE", &Environment::nvls_tree_chunk_bytes, least_chunk,
                   most_int},
    // The older name of each first, so that the newer one wins.
    NumberVariable{"NCCL_MIN_NRINGS", &Environment::least_channels, 0, 64},
    NumberVariable{"NCCL_MAX_NRINGS", &Environment::most_channels, 1, 64},
    NumberVariable{"NCCL_MIN_NCHANNELS", &Environment::least_channels, 0, 64},
    NumberVariable{"NCCL_MAX_NCHANNELS", &Environment::most_channels, 1, 64},
    NumberVariable{"NCCL_MIN_CTAS", &Environment::least_ctas, 1, 64},
    NumberVariable{"NCCL_MAX_CTAS", &Environment::most_ctas, 1, 64},
    NumberVariable{"NCCL_NVLS_NCHANNELS", &Environment::nvls_channels, 1, 64},
    NumberVariable{"NCCL_MIN_P2P_NCHANNELS", &Environment::least_p2p_channels, 1, 64},
    NumberVariable{"NCCL_MAX_P2P_NCHANNELS", &Environment::most_p2p_channels, 1, 64},
    NumberVariable{"NCCL_NCHANNELS_PER_NET_PEER", &Environment::channels_per_net_peer, 1, 64},
    NumberVariable{"NCCL_CGA_CLUSTER_SIZE", &Environment::cga_cluster_size, 0, 8},
    NumberVariable{"NCCL_P2P_PER_CHANNEL_NET_BW", &Environment::p2p_per_channel_net_bw, 1,
                   most_int},
    NumberVariable{"NCCL_P2P_SCHEDULE_GROUP_SIZE", &Environment::p2p_schedule_group_size, 1,
                   most_int},
    NumberVariable{"NCCL_UNPACK_DOUBLE_NCHANNELS", &Environment::unpack_double_channels, 0, 1},
    NumberVariable{"NCCL_CROSS_NIC", &Environment::cross_nic, 0, 2},
    NumberVariable{"NCCL_P2P_DISABLE", &Environment::p2p_disable, 0, 1},
    NumberVariable{"NCCL_NVB_DISABLE", &Environment::nvb_disable, 0, 1},
    NumberVariable{"NCCL_SHM_DISABLE", &Environment::shm_disable, 0, 1},
    NumberVariable{"NCCL_NET_GDR_READ", &Environment::net_gdr_read, 0, 1},
    NumberVariable{"NCCL_NET_GDR_C2C", &Environment::net_gdr_c2c, 0, 1},
    NumberVariable{"NCCL_PXN_DISABLE", &Environment::pxn_disable, 0, 1},
    NumberVariable{"NCCL_P2P_PXN_LEVEL", &Environment::p2p_pxn_level, 0, 2},
    NumberVariable{"NCCL_PXN_C2C", &Environment::pxn_c2c, 0, 1},
    NumberVariable{"NCCL_IB_MERGE_NICS", &Environment::ib_merge_nics, 0, 1},
    NumberVariable{"NCCL_MNNVL_ENABLE", &Environment::mnnvl_enable, 0, 2},
    NumberVariable{"NCCL_IGNORE_CPU_AFFINITY", &Environment::ignore_cpu_affinity, 0, 1},
    NumberVariable{"NCCL_IB_DISABLE", &Environment::ib_disable, 0, 1},
    NumberVariable{"NCCL_IB_QPS_PER_CONNECTION", &Environment::ib_qps_per_connection, 1, 128},
    NumberVariable{"NCCL_IB_SPLIT_DATA_ON_QPS", &Environment::ib_split_data_on_qps, 0, 1},
    NumberVariable{"NCCL_IB_AR_THRESHOLD", &Environment::ib_adaptive_routing_threshold_bytes, 0,
                   no_limit},
    NumberVariable{"NCCL_NET_SHARED_BUFFERS", &Environment::net_shared_buffers, 0, 1},
    NumberVariable{"NCCL_NET_SHARED_COMMS", &Environment::net_shared_comms, 0, 1},
    NumberVariable{"NCCL_SOCKET_NTHREADS", &Environment::socket_threads, 0, 16},
    NumberVariable{"NCCL_NSOCKS_PERTHREAD", &Environment::sockets_per_thread, 0, 64},
    NumberVariable{"NCCL_GRAPH_REGISTER", &Environment::graph_register, 0, 1},
    NumberVariable{"NCCL_LOCAL_REGISTER", &Environment::local_register, 0, 1},
    NumberVariable{"NCCL_WIN_ENABLE", &Environment::window_enable, 0, 1},
    NumberVariable{"NCCL_SYM_CTAS", &Environment::symmetric_ctas, 0, 64},
    NumberVariable{"NCCL_SYM_NOWIN_ENABLE", &Environment::symmetric_without_window, 0, 1},
    NumberVariable{"NCCL_SYM_CE_THRESHOLD", &Environment::symmetric_copy_engine_threshold, 0,
                   no_limit},
    NumberVariable{"NCCL_SYM_TMA_ENABLE", &Environment::symmetric_tma, 0, 1},
    NumberVariable{"NCCL_ALLGATHERV_ENABLE", &Environment::all_gather_v_enable, 0, 1},
    NumberVariable{"NCCL_RUNTIME_CONNECT", &Environment::runtime_connect, 0, 1},
};

struct TextVariable {
  std::string_view name;
  TextSetting Environment::* setting;
};
constexpr std::array text_variables{
    TextVariable{"NCCL_TUNER_PLUGIN", &Environment::tuner_plugin},
    TextVariable{"NCCL_TOPO_FILE", &Environment::topology_file},
    TextVariable{"NCCL_TOPO_DUMP_FILE", &Environment::topology_dump_file},
    TextVariable{"NCCL_GRAPH_FILE", &Environment::graph_file},
    TextVariable{"NCCL_GRAPH_DUMP_FILE", &Environment::graph_dump_file},
    TextVariable{"NCCL_HOSTID", &Environment::host_id},
    TextVariable{"NCCL_IB_HCA", &Environment::ib_hca},
    TextVariable{"NCCL_SOCKET_IFNAME", &Environment::socket_interface},
    TextVariable{"NCCL_NET", &Environment::network},
    TextVariable{"NCCL_SYM_KERNEL", &Environment::symmetric_kernel},
};

/// Logging: without an effect on any machine.
constexpr std::array<std::string_view, 6> log_variables{
    "NCCL_DEBUG",           "NCCL_DEBUG_SUBSYS",
    "NCCL_DEBUG_FILE",      "NCCL_DEBUG_TIMESTAMP_FORMAT",
    "NCCL_SET_THREAD_NAME", "NCCL_TOPO_DUMP_FILE_RANK"};

/// What NCCL has and this model does not heed.
struct UnheededVariable {
  std::string_view name;
  std::string_view why;
};
constexpr std::string_view no_registration = "buffers that users register are not simulated";
constexpr std::string_view no_set_up = "setting up connections takes no time here";
constexpr std::string_view no_verbs_detail = "links and adapters neither fail nor retry here";
constexpr std::string_view all_nics = "all NICs of the topology carry data";
constexpr std::array unheeded_variables{
    UnheededVariable{"NCCL_TUNER_PLUGIN", "tuner plugins are not run"},
    UnheededVariable{"NCCL_TUNER_CONFIG_FILE", "tuner plugins are not run"},
    UnheededVariable{"NCCL_PROFILER_PLUGIN", "profiler plugins are not run"},
    UnheededVariable{"NCCL_NET_PLUGIN", "what a plugin costs is in the topology's NICs"},
    UnheededVariable{"NCCL_CGA_CLUSTER_SIZE", "where a GPU places thread blocks is not simulated"},
    UnheededVariable{"NCCL_CTA_POLICY", no_registration},
    UnheededVariable{"NCCL_UNPACK_DOUBLE_NCHANNELS",
                     "networks that unpack on the GPU are not simulated"},
    UnheededVariable{"NCCL_HOSTID", "hosts are the nodes of the topology"},
    UnheededVariable{"NCCL_IGNORE_CPU_AFFINITY", "CPU threads have no place here"},
    UnheededVariable{"NCCL_SOCKET_IFNAME", all_nics},
    UnheededVariable{"NCCL_SOCKET_FAMILY", all_nics},
    UnheededVariable{"NCCL_NSOCKS_PERTHREAD", "sockets of a thread share its time"},
    UnheededVariable{"NCCL_IB_SPLIT_DATA_ON_QPS", "queue pairs carry equal shares either way"},
    UnheededVariable{"NCCL_IB_AR_THRESHOLD", "routing is the fabric's (fabric.routing)"},
    UnheededVariable{"NCCL_IB_ADAPTIVE_ROUTING", "routing is the fabric's (fabric.routing)"},
    UnheededVariable{"NCCL_IB_GID_INDEX", no_set_up},
    UnheededVariable{"NCCL_IB_TC", "traffic has no classes here"},
    UnheededVariable{"NCCL_IB_SL", "traffic has no classes here"},
    UnheededVariable{"NCCL_IB_TIMEOUT", no_verbs_detail},
    UnheededVariable{"NCCL_IB_RETRY_CNT", no_verbs_detail},
    UnheededVariable{"NCCL_IB_PCI_RELAXED_ORDERING",
                     "efficiencies of PCIe links are the topology's"},
    UnheededVariable{"NCCL_NET_SHARED_BUFFERS", "the memory of proxies is not simulated"},
    UnheededVariable{"NCCL_NET_SHARED_COMMS", "the memory of proxies is not simulated"},
    UnheededVariable{"NCCL_GRAPH_REGISTER", no_registration},
    UnheededVariable{"NCCL_LOCAL_REGISTER", no_registration},
    UnheededVariable{"NCCL_WIN_ENABLE", no_registration},
    UnheededVariable{"NCCL_SYM_KERNEL", no_registration},
    UnheededVariable{"NCCL_SYM_CTAS", no_registration},
    UnheededVariable{"NCCL_SYM_NOWIN_ENABLE", no_registration},
    UnheededVariable{"NCCL_SYM_CE_THRESHOLD", no_registration},
    UnheededVariable{"NCCL_SYM_TMA_ENABLE", no_registration},
    UnheededVariable{"NCCL_ALLGATHERV_ENABLE", "broadcasts of several roots are not fused here"},
    UnheededVariable{"NCCL_RUNTIME_CONNECT", no_set_up},
    UnheededVariable{"NCCL_COMM_ID", no_set_up},
    UnheededVariable{"NCCL_CONF_FILE", "variables are given with the scenario or the command"},
    UnheededVariable{"NCCL_COMM_BLOCKING", "the CPU's side of NCCL is not simulated so finely"},
    UnheededVariable{"NCCL_LAUNCH_MODE", "the CPU's side of NCCL is not simulated so finely"},
    UnheededVariable{"NCCL_CUMEM_ENABLE", "how memory is allocated takes no time here"},
    UnheededVariable{"NCCL_CUMEM_HOST_ENABLE", "how memory is allocated takes no time here"},
    UnheededVariable{"NCCL_NVLS_CUMEM_ENABLE", "how memory is allocated takes no time here"},
    UnheededVariable{"NCCL_WORK_FIFO_BYTES", "the CPU's side of NCCL is not simulated so finely"},
    UnheededVariable{"NCCL_WORK_FIFO_DEPTH", "the CPU's side of NCCL is not simulated so finely"},
    UnheededVariable{"NCCL_MAX_WORK_FIFO_BYTES",
                     "the CPU's side of NCCL is not simulated so finely"},
};

/// As C's strtoll with base 0, of the whole text.
std::optional<std::int64_t> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() ||
      magnitude > static_cast<std::uint64_t>(no_limit)) {
    return std::nullopt;
  }
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

class Reader {
 public:
  Reader(NcclVersion version, const VariablePlaces& places, simcore::Diagnostics& diagnostics)
      : version_(version), places_(places), diagnostics_(diagnostics) {}

  void read(const std::map<std::string, std::string>& variables) {
    for (const auto& variable : number_variables) {
      if (const auto* text = value(variables, variable.name)) read_number(variable, *text);
    }
    for (const auto& variable : text_variables) {
      if (const auto* text = value(variables, variable.name)) out.*variable.setting = *text;
    }
    if (const auto* text = value(variables, "NCCL_ALGO")) {
      out.algorithm_set = true;
      read_algorithm_list(*text, version_, where_, diagnostics_, out.permissions);
    }
    if (const auto* text = value(variables, "NCCL_PROTO")) {
      out.protocol_set = true;
      read_protocol_list(*text, version_, where_, diagnostics_, out.permissions);
    }
    read_level(variables, "NCCL_P2P_LEVEL", out.p2p_level);
    read_level(variables, "NCCL_NET_GDR_LEVEL", out.net_gdr_level);
    if (const auto* text = value(variables, "NCCL_THREAD_THRESHOLDS")) read_thresholds(*text);
    if (const auto* text = value(variables, "NCCL_NETDEVS_POLICY")) read_policy(*text);
    if (const auto* text = value(variables, "NCCL_CTA_POLICY")) read_cta_policy(*text);
    check_network();
    check_order("NCCL_MIN_NCHANNELS", out.least_channels, "NCCL_MAX_NCHANNELS", out.most_channels);
    check_order("NCCL_MIN_CTAS", out.least_ctas, "NCCL_MAX_CTAS", out.most_ctas);
    check_order("NCCL_MIN_P2P_NCHANNELS", out.least_p2p_channels, "NCCL_MAX_P2P_NCHANNELS",
                out.most_p2p_channels);
    for (const auto& [name, text] : variables) {
      stand_at(name);
      if (!report_unknown(name) && text.empty()) {
        warning(fmt::format("{} is empty, and taken for not set", name));
      }
    }
  }

  /// All that NCCL has, as far as it is known here.
  std::vector<std::string> known_names() const {
    std::vector<std::string> names = names_;
    for (const UnheededVariable& one : unheeded_variables) names.emplace_back(one.name);
    for (const std::string_view one : log_variables) names.emplace_back(one);
    return names;
  }

  Environment out;

 private:
  /// NCCL takes an empty value for none.
  const std::string* value(const std::map<std::string, std::string>& variables,
                           std::string_view name) {
    names_.emplace_back(name);
    const auto found = variables.find(std::string(name));
    if (found == variables.end() || found->second.empty()) return nullptr;
    stand_at(name);
    return &found->second;
  }

  /// What is reported from here on is about this variable.
  void stand_at(std::string_view name) {
    if (places_) where_ = places_(name);
  }

  void error(std::string_view name, std::string_view expected, std::string_view text) {
    diagnostics_.error(where_, fmt::format("{}: expected {}, got {}", name, expected, quote(text)));
  }

  void warning(std::string message, std::string suggestion = {}) {
    diagnostics_.warning(where_, std::move(message), std::move(suggestion));
  }

  /// NCCL ends where it finds no network of that name; which plugins there are is not known here.
  void check_network() {
    if (!out.network) return;
    stand_at("NCCL_NET");
    std::string name = *out.network;
    std::ranges::transform(name, name.begin(), [](unsigned char letter) {
      return static_cast<char>(std::toupper(letter));
    });
    if (name == "IB" || name == "SOCKET") return;
    warning(fmt::format("NCCL_NET: {} is neither IB nor Socket, and taken for the plugin of the "
                        "topology's NICs; NCCL ends where it has no network of that name",
                        quote(*out.network)),
            simcore::nearest_spelling(*out.network, {"IB", "Socket"}));
  }

  void check_order(std::string_view least_name, const Setting& least, std::string_view most_name,
                   const Setting& most) {
    if (!least || !most || *least <= *most) return;
    stand_at(least_name);
    warning(fmt::format("{}={} is above {}={}: no number of channels is between them", least_name,
                        *least, most_name, *most));
  }

  void read_number(const NumberVariable& variable, std::string_view text) {
    const auto number = parse_number(text);
    if (!number) return error(variable.name, "a whole number", text);
    if (*number == -2) return;  // NCCL's own "not set"
    if (*number < variable.least || *number > variable.most) {
      const std::string range =
          variable.most == no_limit
              ? fmt::format("a number from {}", variable.least)
              : fmt::format("a number from {} to {}", variable.least, variable.most);
      return error(variable.name, range, text);
    }
    const bool counts_threads = variable.setting == &Environment::threads ||
                                variable.setting == &Environment::ll128_threads;
    if (counts_threads && *number % 32 != 0) {
      return error(variable.name, "a multiple of 32", text);
    }
    out.*variable.setting = number;
  }

  void read_level(const std::map<std::string, std::string>& variables, std::string_view name,
                  std::optional<PathType>& level) {
    const auto* text = value(variables, name);
    if (text == nullptr) return;
    level = parse_path_level(*text);
    if (!level) error(name, "a path type (LOC, NVL, PIX, PXB, PHB, SYS) or 0 to 4", *text);
    if (const auto number = parse_number(*text); level && number && *number > 4) {
      warning(fmt::format("{}: {} is taken for 4 (SYS), as NCCL does", name, *text));
    }
  }

  void read_thresholds(std::string_view text) {
    constexpr std::string_view expected = "up to six whole numbers with blanks between";
    std::size_t count = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(' '), rest.size());
      if (end > 0) {
        const auto number = parse_number(rest.substr(0, end));
        if (!number || count == out.thread_thresholds.size()) {
          return error("NCCL_THREAD_THRESHOLDS", expected, text);
        }
        out.thread_thresholds[count++] = *number;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  void read_policy(const std::string& text) {
    const auto count = text.starts_with("MAX:") ? parse_number(text.substr(4)) : std::nullopt;
    const bool most = count && *count >= 1 && *count <= most_int;
    if (text != "AUTO" && text != "ALL" && !most) {
      return error("NCCL_NETDEVS_POLICY",
                   fmt::format("AUTO, ALL or MAX:n with n from 1 to {}", most_int), text);
    }
    out.netdevs_policy = text;
  }

  void read_cta_policy(std::string_view text) {
    constexpr std::array<std::string_view, 3> policies{"DEFAULT", "EFFICIENCY", "ZERO"};
    const auto named = std::ranges::find(policies, text);
    const auto number = named != policies.end()
                            ? std::optional<std::int64_t>(named - policies.begin())
                            : parse_number(text);
    if (!number || *number < 0 || *number > 3) {
      return error("NCCL_CTA_POLICY", "DEFAULT, EFFICIENCY, ZERO or 0 to 3", text);
    }
    out.cta_policy = number;
  }

  /// Whether it said that the variable has no effect.
  bool report_unknown(const std::string& name) {
    const auto unheeded = std::ranges::find(unheeded_variables, name, &UnheededVariable::name);
    if (unheeded != unheeded_variables.end()) {
      warning(fmt::format("{} has no effect in this model, because {}", name, unheeded->why));
      return true;
    }
    const bool known = std::ranges::find(names_, name) != names_.end() ||
                       std::ranges::find(log_variables, name) != log_variables.end();
    if (known) return false;
    warning(fmt::format("{} is none of NCCL's variables{}; it has no effect", quote(name),
                        is_nccl_name(name) ? " known here" : ""),
            simcore::nearest_spelling(name, known_names()));
    return true;
  }

  NcclVersion version_;
  const VariablePlaces& places_;
  simcore::SourceLocation where_;
  simcore::Diagnostics& diagnostics_;
  std::vector<std::string> names_;
};

}  // namespace

std::optional<PathType> parse_path_level(std::string_view text) {
  // The numbers of releases up to 2.4, which NCCL still takes.
  constexpr std::array by_number{PathType::loc, PathType::pix, PathType::pxb, PathType::phb,
                                 PathType::sys};
  if (const auto named = path_type_named(text)) {
    return *named <= PathType::sys ? named : std::nullopt;
  }
  const auto number = parse_number(text);
  if (!number || *number < 0) return std::nullopt;
  const auto last = static_cast<std::int64_t>(by_number.size()) - 1;
  return by_number[static_cast<std::size_t>(std::min(*number, last))];
}

bool is_nccl_name(std::string_view name) { return name.starts_with("NCCL_"); }

std::string nearest_nccl_name(const std::string& name) {
  simcore::Diagnostics ignored;
  const VariablePlaces nowhere;
  Reader reader(newest_version, nowhere, ignored);
  reader.read({});
  return simcore::nearest_spelling(name, reader.known_names());
}

Environment read_environment(const std::map<std::string, std::string>& variables,
                             NcclVersion version, const VariablePlaces& places,
                             simcore::Diagnostics& diagnostics) {
  Reader reader(version, places, diagnostics);
  reader.read(variables);
  return reader.out;
}

}  // namespace shardsim::nccl
