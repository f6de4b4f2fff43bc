#include "models/nccl/planner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/graph_xml.hpp"
#include "models/nccl/machine_from_topology.hpp"
#include "models/nccl/nic_filter.hpp"
#include "models/nccl/planning_options.hpp"
#include "models/nccl/sockets.hpp"
#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {

namespace {

/// First GPU generation whose NVLink switches reduce and multicast.
constexpr int first_multicast_capability = 90;
/// Beyond this NCCL could not be asked either: the largest NVLink domain.
constexpr int most_gpus_of_node = 576;

CpuArchitecture architecture_of(const Machine& machine) {
  const std::string& text = machine.cpus.front().architecture;
  if (text == "arm64") return CpuArchitecture::arm;
  return text == "ppc64" ? CpuArchitecture::power : CpuArchitecture::x86;
}

CpuVendor vendor_of(const Machine& machine) {
  const std::string& text = machine.cpus.front().vendor;
  const bool mixed = std::ranges::any_of(
      machine.cpus, [&text](const CpuEntry& cpu) { return cpu.vendor != text; });
  if (mixed) return CpuVendor::mixed;
  if (text == "AuthenticAMD") return CpuVendor::amd;
  return text == "GenuineIntel" ? CpuVendor::intel : CpuVendor::other;
}

CommunicatorFacts facts_of(const Machine& machine, const System& system,
                           const CommunicatorShape& shape, NcclVersion version) {
  CommunicatorFacts facts;
  facts.version = version;
  facts.nodes = shape.nodes;
  facts.ranks = shape.ranks();
  facts.least_local_ranks = facts.most_local_ranks = shape.ranks_per_node();
  facts.least_compute_capability = system.least_compute_capability();
  facts.most_compute_capability = facts.least_compute_capability;
  for (const SystemGpu& gpu : system.gpus) {
    facts.most_compute_capability = std::max(facts.most_compute_capability, gpu.compute_capability);
  }
  facts.cpu_architecture = architecture_of(machine);
  facts.cpu_vendor = vendor_of(machine);
  facts.nvswitch = system.nvswitch.has_value();
  facts.multicast = facts.nvswitch && facts.least_compute_capability >= first_multicast_capability;
  facts.domain_spans_hosts = shape.gpus_of_host.size() > 1;
  for (const SystemNet& net : system.nets) {
    const auto rate = static_cast<double>(net.gbytes_per_second);
    const double least = facts.least_nic_bandwidth_gbps;
    facts.least_nic_bandwidth_gbps = least > 0 ? std::min(least, rate) : rate;
  }
  return facts;
}

/// Takes the GPUs that do not take part out of a host's tree.
void keep_gpus(std::vector<PciEntry>& devices, const std::vector<int>& kept) {
  std::erase_if(devices, [&kept](const PciEntry& one) {
    return one.gpu && std::ranges::find(kept, one.gpu->device) == kept.end();
  });
  for (PciEntry& one : devices) keep_gpus(one.children, kept);
}

void number_ranks(std::vector<PciEntry>& devices, const std::vector<int>& kept, int first) {
  for (PciEntry& one : devices) {
    if (one.gpu) {
      const auto place = std::ranges::find(kept, one.gpu->device) - kept.begin();
      one.gpu->rank = first + static_cast<int>(place);
      std::erase_if(one.gpu->nvlinks, [](const NvlinkEntry& link) { return link.count == 0; });
    }
    number_ranks(one.children, kept, first);
  }
}

void collect_gpu_buses(const std::vector<PciEntry>& devices, std::vector<std::string>& buses) {
  for (const PciEntry& one : devices) {
    if (one.gpu) buses.push_back(one.bus_id);
    collect_gpu_buses(one.children, buses);
  }
}

void drop_links_to_absent(std::vector<PciEntry>& devices, const std::vector<std::string>& present) {
  for (PciEntry& one : devices) {
    if (one.gpu) {
      std::erase_if(one.gpu->nvlinks, [&present](const NvlinkEntry& link) {
        return link.kind == NvlinkTarget::gpu &&
               std::ranges::find(present, link.target) == present.end();
      });
    }
    drop_links_to_absent(one.children, present);
  }
}

/// Several CPUs may belong to one host.
Machine restricted(Machine machine, const CommunicatorShape& shape) {
  int first = 0;
  for (std::size_t host = 0; host < shape.gpus_of_host.size(); ++host) {
    const std::vector<int>& kept = shape.gpus_of_host[host];
    std::vector<std::string> present;
    for (CpuEntry& cpu : machine.cpus) {
      if (cpu.host != host) continue;
      keep_gpus(cpu.devices, kept);
      number_ranks(cpu.devices, kept, first);
      collect_gpu_buses(cpu.devices, present);
    }
    for (CpuEntry& cpu : machine.cpus) {
      if (cpu.host == host) drop_links_to_absent(cpu.devices, present);
    }
    first += static_cast<int>(kept.size());
  }
  return machine;
}

/// Takes network devices out all of whose NICs are down.
void drop_nics(std::vector<PciEntry>& devices, const std::vector<int>& absent,
               std::int64_t nics_per_device) {
  const auto is_down = [&](const NetEntry& net) {
    for (std::int64_t i = 0; i < nics_per_device; ++i) {
      const auto nic = static_cast<int>(net.device * nics_per_device + i);
      if (std::ranges::find(absent, nic) == absent.end()) return false;
    }
    return true;
  };
  std::erase_if(devices, [&](PciEntry& device) {
    const bool was_nic = !device.nets.empty();
    std::erase_if(device.nets, is_down);
    drop_nics(device.children, absent, nics_per_device);
    return was_nic && device.nets.empty() && !device.gpu;
  });
}

Machine without_absent_nics(Machine machine, const CommunicatorShape& shape,
                            std::int64_t nics_per_device) {
  if (shape.absent_nics.empty()) return machine;
  const auto& of_host = shape.absent_nics.front();
  for (CpuEntry& cpu : machine.cpus) {
    if (cpu.host < of_host.size()) drop_nics(cpu.devices, of_host[cpu.host], nics_per_device);
  }
  return machine;
}

/// Host numbers in the order of the description, as a topology file may name hosts as it likes.
Machine with_hosts_counted(Machine machine) {
  std::vector<std::uint64_t> hosts;
  for (CpuEntry& cpu : machine.cpus) {
    auto known = std::ranges::find(hosts, cpu.host);
    if (known == hosts.end()) known = hosts.insert(hosts.end(), cpu.host);
    cpu.host = static_cast<std::uint64_t>(known - hosts.begin());
  }
  return machine;
}

/// What the user's graph file gives; nothing given without one.
std::expected<GivenGraphs, std::string> given_graphs(const NcclSetup& setup, const System& system,
                                                     const PlanningOptions& options) {
  if (!setup.graph_file) return GivenGraphs{};
  simcore::Diagnostics diagnostics;
  auto given = read_graph_xml(setup.graph_file, system, options, diagnostics);
  if (!given) {
    // One line: it becomes part of another message.
    const simcore::Diagnostic& first = diagnostics.all().front();
    return std::unexpected(fmt::format("NCCL_GRAPH_FILE: {}:{}:{}: {}", setup.graph_file->name,
                                       first.where.line, first.where.column, first.message));
  }
  return std::move(*given);
}

std::expected<std::unique_ptr<PlannedCommunicator>, std::string> make_plan(
    const Machine& machine, const CommunicatorShape& shape, const NcclSetup& setup) {
  auto made = std::make_unique<PlannedCommunicator>();
  made->shape = shape;
  made->system = std::make_unique<System>(build_system(machine, setup.version));
  const PlanningOptions options = planning_options(setup.environment, shape.nodes > 1);
  made->land = std::make_unique<Landscape>(survey(*made->system, options));
  const auto given = given_graphs(setup, *made->system, options);
  if (!given) return std::unexpected(given.error());
  TuningInputs inputs;
  inputs.communicator = facts_of(machine, *made->system, shape, setup.version);
  GraphWishes wishes;
  wishes.collnet = setup.environment.collnet_enable.value_or(0) != 0;
  wishes.nvls = inputs.communicator.multicast && setup.environment.nvls_enable.value_or(2) != 0;
  made->graphs = search_graphs(*made->land, wishes, *given);
  inputs.ring = summary_of(made->graphs.ring);
  inputs.tree = summary_of(made->graphs.tree);
  inputs.nvls = summary_of(made->graphs.nvls);
  if (made->graphs.collnet_chain) inputs.collnet_chain = summary_of(*made->graphs.collnet_chain);
  if (made->graphs.collnet_direct) inputs.collnet_direct = summary_of(*made->graphs.collnet_direct);
  made->selector = std::make_unique<Selector>(inputs, setup.environment);
  return made;
}

/// What NCCL's ranks agree on when they have searched: its init.cc, after the second exchange.
ChannelGraph agreed(const std::vector<const ChannelGraph*>& found) {
  ChannelGraph made = **std::ranges::min_element(found, {}, &ChannelGraph::channel_count);
  for (const ChannelGraph* one : found) {
    made.intra_gbytes_per_second =
        std::min(made.intra_gbytes_per_second, one->intra_gbytes_per_second);
    made.inter_gbytes_per_second =
        std::min(made.inter_gbytes_per_second, one->inter_gbytes_per_second);
    made.same_channels = made.same_channels && one->same_channels;
    made.type_intra = std::max(made.type_intra, one->type_intra);
    made.type_inter = std::max(made.type_inter, one->type_inter);
    made.cross_nic = std::max(made.cross_nic, one->cross_nic);
  }
  return made;
}

double ring_bandwidth(const PlannedCommunicator& plan) {
  const ChannelGraph& ring = plan.graphs.ring;
  return static_cast<double>(ring.inter_gbytes_per_second) * ring.channel_count();
}

/// The NICs that are down, by node and host; see CommunicatorShape.
std::vector<std::vector<std::vector<int>>> absent_nics(const network::Graph& graph,
                                                       std::span<const Domain> domains) {
  std::vector<std::vector<std::vector<int>>> absent;
  if (!graph.any_down()) return absent;
  bool any = false;
  for (const Domain& domain : domains) {
    auto& of_node = absent.emplace_back();
    int host = -1;
    for (const int rank : domain.ranks) {
      if (graph.node_of(rank) == host) continue;
      host = graph.node_of(rank);
      auto& of_host = of_node.emplace_back();
      for (const network::VertexId device : graph.devices_of(host)) {
        if (graph.is_down(device)) of_host.push_back(graph.vertices()[device].index);
      }
      any = any || !of_host.empty();
    }
  }
  if (!any) return {};
  const bool alike =
      std::ranges::all_of(absent, [&](const auto& of_node) { return of_node == absent.front(); });
  if (alike) absent.resize(1);
  return absent;
}

}  // namespace

std::optional<NcclSetup> read_setup(const std::string& version,
                                    const simcore::SourceLocation& version_where,
                                    const std::map<std::string, std::string>& variables,
                                    const VariablePlaces& variable_places,
                                    simcore::Diagnostics& diagnostics) {
  const auto parsed = parse_nccl_version(version);
  if (!parsed) {
    diagnostics.error(
        version_where,
        fmt::format("expected a version of NCCL such as 2.27.7, not {}", simcore::quote(version)));
    return std::nullopt;
  }
  NcclSetup setup;
  setup.version = *parsed;
  if (setup.version < oldest_version) {
    diagnostics.warning(
        version_where,
        fmt::format("NCCL {} is taken as 2.18, the oldest whose decisions are known", version));
    setup.version = oldest_version;
  }
  if (setup.version > newest_version) {
    diagnostics.warning(
        version_where,
        fmt::format("NCCL {} is newer than {}, the newest whose decisions are known: it is taken "
                    "to decide as that does",
                    version, to_text(newest_version)));
  }
  setup.environment = read_environment(variables, setup.version, variable_places, diagnostics);
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(setup));
}

int CommunicatorShape::ranks_per_node() const {
  std::size_t count = 0;
  for (const std::vector<int>& host : gpus_of_host) count += host.size();
  return static_cast<int>(count);
}

std::optional<CommunicatorShape> shape_of(const network::Graph& graph,
                                          std::span<const Domain> domains) {
  CommunicatorShape shape;
  shape.nodes = static_cast<int>(domains.size());
  for (std::size_t d = 0; d < domains.size(); ++d) {
    std::vector<std::vector<int>> hosts;
    int host = -1;
    for (const int rank : domains[d].ranks) {
      if (graph.node_of(rank) != host) hosts.emplace_back();
      host = graph.node_of(rank);
      hosts.back().push_back(graph.local_index(rank));
    }
    if (d == 0) {
      shape.gpus_of_host = std::move(hosts);
    } else if (hosts.size() != shape.gpus_of_host.size() ||
               domains[d].ranks.size() != domains[0].ranks.size()) {
      return std::nullopt;
    }
  }
  shape.absent_nics = absent_nics(graph, domains);
  return shape;
}

std::optional<CommunicatorShape> shape_of_cluster(const network::TopologySpec& spec,
                                                  std::int64_t nodes, std::int64_t gpus) {
  const std::int64_t domain = spec.node.nvlink ? spec.node.nvlink->nodes_per_domain : 1;
  const std::int64_t hosts = std::max<std::int64_t>(std::min(domain, nodes), 1);
  if (nodes % hosts != 0) return std::nullopt;
  std::vector<int> local;
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu) local.push_back(static_cast<int>(gpu));
  CommunicatorShape shape;
  shape.nodes = static_cast<int>(nodes / hosts);
  shape.gpus_of_host.assign(static_cast<std::size_t>(hosts), local);
  return shape;
}

Planner::Planner(const network::TopologySpec& spec, int compute_capability, const NcclSetup& setup)
    : spec_(&spec),
      compute_capability_(compute_capability),
      setup_(&setup),
      by_sockets_(uses_sockets(setup.environment, by_verbs()) || list_leaves_no_nic()) {}

Planner::Planner(Machine machine, const NcclSetup& setup)
    : given_(with_hosts_counted(std::move(machine))),
      setup_(&setup),
      by_sockets_(uses_sockets(setup.environment, by_verbs())) {}

std::int64_t Planner::nics_per_device() const {
  if (spec_ == nullptr || !spec_->node.nics) return 1;
  // A plugin groups NICs by itself; ports of a card are merged by NCCL, if the user lets it.
  const network::NicSpec& nics = *spec_->node.nics;
  const bool by_plugin = nics.plugin_latency > simcore::SimTime{};
  const bool merges = setup_->environment.ib_merge_nics.value_or(1) != 0;
  return by_plugin || merges ? nics.nics_per_device : 1;
}

bool Planner::by_verbs() const {
  if (spec_ == nullptr || !spec_->node.nics) return true;
  return spec_->node.nics->plugin_latency == simcore::SimTime{};
}

void Planner::note_transports(PlannedCommunicator& plan) const {
  const Environment& environment = setup_->environment;
  plan.nics_per_device = nics_per_device();
  plan.shared_memory = environment.shm_disable.value_or(0) == 0;
  plan.messages_change_rail = !by_sockets_ && environment.pxn_disable.value_or(0) == 0 &&
                              environment.p2p_pxn_level.value_or(2) > 0;
  plan.queue_pairs =
      by_sockets_ ? 1 : static_cast<int>(environment.ib_qps_per_connection.value_or(1));
}

Machine Planner::described(std::int64_t hosts) const {
  MachineChoice choice;
  choice.nodes = hosts;
  choice.compute_capability = compute_capability_;
  choice.nics_per_device = nics_per_device();
  return machine_from_topology(*spec_, choice);
}

bool Planner::list_leaves_no_nic() const {
  const auto& list = setup_->environment.ib_hca;
  if (!list || spec_ == nullptr || !spec_->node.nics || !by_verbs() || setup_->machine)
    return false;
  Machine machine = described(1);
  return !keep_nics(machine, *list);
}

Machine Planner::machine_of(const CommunicatorShape& shape) const {
  const auto taking_part = [&](Machine machine) {
    return restricted(without_absent_nics(std::move(machine), shape, nics_per_device()), shape);
  };
  if (setup_->machine) return taking_part(with_hosts_counted(*setup_->machine));
  if (given_) return taking_part(*given_);
  Machine machine = described(static_cast<std::int64_t>(shape.gpus_of_host.size()));
  // NCCL's own verbs transport heeds the list; a plugin does not, nor do sockets.
  const auto& list = setup_->environment.ib_hca;
  if (by_sockets_) {
    keep_from_gpu_memory(machine);
  } else if (list && by_verbs()) {
    static_cast<void>(keep_nics(machine, *list));
  }
  return taking_part(std::move(machine));
}

std::expected<const PlannedCommunicator*, std::string> Planner::plan(
    const CommunicatorShape& shape) const {
  if (const auto found = known_.find(shape); found != known_.end()) return found->second.get();
  auto made = shape.absent_nics.size() > 1 ? agree(shape) : plan_alike(shape);
  if (!made) return std::unexpected(made.error());
  return known_.emplace(shape, std::move(*made)).first->second.get();
}

std::expected<std::unique_ptr<PlannedCommunicator>, std::string> Planner::plan_alike(
    const CommunicatorShape& shape) const {
  if (shape.ranks_per_node() > most_gpus_of_node) {
    return std::unexpected(
        fmt::format("a node of {} GPUs is more than NCCL's planner takes", shape.ranks_per_node()));
  }
  const Machine machine = machine_of(shape);
  if (machine.cpus.empty() || static_cast<int>(gpus_of(machine).size()) != shape.ranks_per_node()) {
    return std::unexpected("the machine's description lacks GPUs of the communicator");
  }
  auto made = make_plan(machine, shape, *setup_);
  if (!made) return made;
  note_transports(**made);
  if (shape.ranks() > 1 && (*made)->graphs.ring.channels.empty()) {
    return std::unexpected("NCCL's search finds no ring on this machine");
  }
  if (shape.nodes > 1 && (*made)->system->nets.empty()) {
    if (setup_->environment.ib_hca) return std::unexpected("NCCL_IB_HCA leaves no NIC");
    if (!shape.absent_nics.empty()) return std::unexpected("every NIC of a node is down");
  }
  return made;
}

/// Nodes that lack different NICs: each is planned as if all were like it.
std::expected<std::unique_ptr<PlannedCommunicator>, std::string> Planner::agree(
    const CommunicatorShape& shape) const {
  std::vector<const PlannedCommunicator*> by_node;
  const PlannedCommunicator* weakest = nullptr;
  for (const auto& absent : shape.absent_nics) {
    CommunicatorShape alike = shape;
    const bool whole = std::ranges::all_of(absent, [](const auto& host) { return host.empty(); });
    alike.absent_nics.assign(whole ? 0 : 1, absent);
    const auto found = plan(alike);
    if (!found) return std::unexpected(found.error());
    by_node.push_back(*found);
    if (!weakest || ring_bandwidth(**found) < ring_bandwidth(*weakest)) weakest = *found;
  }
  if (weakest == nullptr) return std::unexpected("the communicator has no node");
  auto made = make_plan(machine_of(weakest->shape), weakest->shape, *setup_);
  if (!made) return made;
  PlannedCommunicator& plan = **made;
  std::vector<const ChannelGraph*> rings, trees, nvls;
  for (const PlannedCommunicator* one : by_node) {
    rings.push_back(&one->graphs.ring);
    trees.push_back(&one->graphs.tree);
    nvls.push_back(&one->graphs.nvls);
  }
  plan.shape = shape;
  note_transports(plan);
  plan.graphs.ring = agreed(rings);
  plan.graphs.tree = agreed(trees);
  plan.graphs.nvls = agreed(nvls);
  TuningInputs inputs = weakest->selector->inputs();
  inputs.ring = summary_of(plan.graphs.ring);
  inputs.tree = summary_of(plan.graphs.tree);
  inputs.nvls = summary_of(plan.graphs.nvls);
  plan.selector = std::make_unique<Selector>(inputs, setup_->environment);
  plan.by_node = std::move(by_node);
  return made;
}

}  // namespace shardsim::nccl
