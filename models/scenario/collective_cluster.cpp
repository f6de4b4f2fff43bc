#include "models/scenario/collective_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/topology_from_machine.hpp"
#include "models/nccl/topology_xml.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_check.hpp"
#include "models/scenario/nccl_files.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::scenario {

namespace {

constexpr std::size_t max_xml_bytes = std::size_t{16} << 20;

using ClusterPointer = std::unique_ptr<CollectiveCluster>;

bool load_yaml(const ClusterRequest& request, const DataFolders& data, CollectiveCluster& cluster,
               simcore::Diagnostics& diagnostics) {
  auto topology = network::load_topology(request.topology, {data.topologies}, diagnostics);
  if (!topology) return false;
  auto gpu = gpu::load_gpu(topology->spec.gpu, {topology->file.parent_path() / "gpus", data.gpus()},
                           diagnostics, topology->gpu_where);
  if (!gpu) return false;
  cluster.name = topology->spec.name;
  cluster.spec = std::move(topology->spec);
  cluster.compute_capability = static_cast<int>(std::lround(gpu->compute_capability * 10));
  cluster.gpu = std::move(gpu);
  return true;
}

bool load_xml(const ClusterRequest& request, CollectiveCluster& cluster,
              simcore::Diagnostics& diagnostics) {
  auto text = simcore::read_text_file(request.topology, max_xml_bytes);
  const auto source = std::make_shared<simcore::SourceText>(
      simcore::SourceText{request.topology, text.value_or("")});
  if (!text) {
    diagnostics.error({source, 0, 0}, text.error());
    return false;
  }
  auto machine = nccl::read_topology_xml(source, diagnostics);
  if (!machine) return false;
  auto spec = nccl::topology_from_machine(*machine);
  if (!spec) {
    diagnostics.error({source, 0, 0}, spec.error());
    return false;
  }
  simcore::Diagnostics problems;
  if (!network::check_topology(*spec, nullptr, problems)) {
    for (const simcore::Diagnostic& one : problems.all()) {
      diagnostics.error({source, 0, 0}, one.message, one.suggestion);
    }
    return false;
  }
  cluster.name = std::filesystem::path(request.topology).stem().string();
  cluster.spec = std::move(*spec);
  cluster.spec.name = cluster.name;
  for (const nccl::GpuEntry* gpu : nccl::gpus_of(*machine)) {
    const int own = gpu->compute_capability;
    cluster.compute_capability =
        cluster.compute_capability == 0 ? own : std::min(cluster.compute_capability, own);
  }
  cluster.machine = std::move(*machine);
  return true;
}

/// A faster NIC sits in a slot that can feed it, beside a GPU whose slot can too: of the first PCIe
/// generation that is fast enough by name, each twice as fast as the one before.
void feed_nics(network::NodeSpec& node) {
  if (!node.pcie) return;
  const auto raise = [](network::CableSpec& cable, double bytes_per_second) {
    while (cable.bandwidth.bytes_per_second < bytes_per_second &&
           cable.bandwidth.bytes_per_second > 0) {
      cable.bandwidth.bytes_per_second *= 2;
    }
  };
  network::PcieSpec& pcie = *node.pcie;
  const double rate = node.nics->link.bandwidth.bytes_per_second;
  raise(pcie.link, rate);
  for (auto* cable : {&pcie.gpu_link, &pcie.nic_link}) {
    if (*cable) raise(**cable, rate);
  }
}

void change_nics(const NicChange& change, network::NodeSpec& node) {
  if (!node.nics) return;
  network::NicSpec& nics = *node.nics;
  if (change.count && *change.count != nics.count) {
    const std::int64_t devices = std::max<std::int64_t>(nics.count / nics.nics_per_device, 1);
    if (nics.nics_per_device > 1) {
      nics.nics_per_device = std::max<std::int64_t>(*change.count / devices, 1);
    }
    nics.count = *change.count;
    if (node.pcie) node.pcie->nics_at.clear();
  }
  nics.link.bandwidth = change.bandwidth.value_or(nics.link.bandwidth);
  nics.link.efficiency = change.efficiency.value_or(nics.link.efficiency);
  if (change.bandwidth) feed_nics(node);
  nics.link.latency = change.latency.value_or(nics.link.latency);
  nics.plugin_latency = change.plugin_latency.value_or(nics.plugin_latency);
  nics.nics_per_device = change.nics_per_device.value_or(nics.nics_per_device);
  nics.software_latency = change.software_latency.value_or(nics.software_latency);
  nics.rendezvous_latency = change.rendezvous_latency.value_or(nics.rendezvous_latency);
}

/// As many NICs as GPUs that are used, fewer than the node has: the GPUs used are those beside
/// them.
void keep_pairs(const ClusterRequest& request, network::NodeSpec& node) {
  const std::int64_t gpus = request.gpus_per_node.value_or(node.gpus);
  const bool paired = node.pcie && node.pcie->switches == node.gpus && node.pcie->gpus_at.empty();
  if (!paired || gpus >= node.gpus || request.nics.count != gpus) return;
  node.gpus = gpus;
  node.pcie->switches = gpus;
}

void change_machine(const ClusterRequest& request, CollectiveCluster& cluster) {
  network::NodeSpec& node = cluster.spec.node;
  keep_pairs(request, node);
  change_nics(request.nics, node);
  if (request.gpu_link && node.pcie) node.pcie->gpu_link = request.gpu_link;
  if (request.compute_capability) {
    cluster.compute_capability = static_cast<int>(*request.compute_capability);
  }
  if (request.nvlink_links && node.nvlink) node.nvlink->links_per_gpu = *request.nvlink_links;
  if (request.nodes_per_domain && node.nvlink && node.nvlink->nodes_per_domain > 1) {
    node.nvlink->nodes_per_domain = *request.nodes_per_domain;
  }
}

/// False, with a problem reported, if NCCL_GRAPH_FILE is not for this cluster.
bool follows_graph_file(const CollectiveCluster& cluster, simcore::Diagnostics& diagnostics) {
  const auto shape =
      nccl::shape_of_cluster(cluster.spec, cluster.nodes(), cluster.ranks() / cluster.nodes());
  if (!shape) return true;
  const auto plan = cluster.planner->plan(*shape);
  if (!plan) diagnostics.error({}, plan.error());
  return plan.has_value();
}

}  // namespace

void NicChange::describe(simcore::Fields<NicChange>& fields) {
  fields.optional("count", &NicChange::count, "NICs of a node.").range(1, 1024);
  fields.optional("bandwidth", &NicChange::bandwidth, "Nominal, of one.");
  fields.optional("efficiency", &NicChange::efficiency, "Share that payload can use.");
  fields.optional("latency", &NicChange::latency, "From NIC to switch.");
  fields.optional("plugin_latency", &NicChange::plugin_latency, "That NCCL's plugin declares.");
  fields.optional("nics_per_device", &NicChange::nics_per_device, "That NCCL sees as one.")
      .range(1, 1024);
  fields.optional("software_latency", &NicChange::software_latency, "Of a step between nodes.");
  fields.optional("rendezvous_latency", &NicChange::rendezvous_latency, "Of large messages.");
}

std::unique_ptr<CollectiveCluster> load_collective_cluster(const ClusterRequest& request,
                                                           const DataFolders& data,
                                                           simcore::Diagnostics& diagnostics,
                                                           const RequestPlaces& places) {
  auto cluster = std::make_unique<CollectiveCluster>();
  const bool xml = request.topology.ends_with(".xml");
  if (!(xml ? load_xml(request, *cluster, diagnostics)
            : load_yaml(request, data, *cluster, diagnostics))) {
    return nullptr;
  }
  change_machine(request, *cluster);
  auto setup = nccl::read_setup(request.nccl_version, places.nccl_version, request.env, places.env,
                                diagnostics);
  if (!setup || !read_nccl_files(*setup, places.env, diagnostics)) return nullptr;
  apply_environment(setup->environment, cluster->spec);
  auto graph = network::build_graph(
      cluster->spec,
      {request.nodes, request.gpus_per_node, places.nodes, places.gpus_per_node, request.limits},
      diagnostics);
  if (!graph) return nullptr;
  cluster->graph = std::move(*graph);
  cluster->setup = std::move(*setup);
  cluster->hardware.compute_capability = cluster->compute_capability;
  const auto& cpus = cluster->spec.node.cpus;
  cluster->hardware.amd_cpu = cpus && cpus->vendor == network::CpuVendor::amd;
  cluster->planner = cluster->machine
                         ? std::make_unique<nccl::Planner>(*cluster->machine, cluster->setup)
                         : std::make_unique<nccl::Planner>(
                               cluster->spec, cluster->compute_capability, cluster->setup);
  check_nic_list(*cluster->planner,
                 places.env ? places.env("NCCL_IB_HCA") : simcore::SourceLocation{}, diagnostics);
  if (cluster->setup.graph_file && !follows_graph_file(*cluster, diagnostics)) return nullptr;
  return cluster;
}

}  // namespace shardsim::scenario
