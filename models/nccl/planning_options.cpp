#include "models/nccl/planning_options.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

namespace shardsim::nccl {
namespace {

std::optional<bool> flag(const Setting& setting) {
  return setting ? std::optional(*setting != 0) : std::nullopt;
}

/// AUTO, ALL or MAX:n, in any case of letters; anything else is AUTO, as for NCCL.
void read_net_devices(std::string policy, PlanningOptions& options) {
  std::transform(policy.begin(), policy.end(), policy.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  if (policy == "ALL") options.net_devices = NetDevicesPolicy::all;
  if (!policy.starts_with("MAX:")) return;
  int count = 0;
  std::from_chars(policy.data() + 4, policy.data() + policy.size(), count);
  if (count <= 0) return;
  options.net_devices = NetDevicesPolicy::at_most;
  options.most_net_devices = count;
}

}  // namespace

PlanningOptions planning_options(const Environment& environment, bool several_nodes) {
  PlanningOptions options;
  options.several_nodes = several_nodes;
  options.cross_nic = static_cast<int>(environment.cross_nic.value_or(2));
  options.p2p_level = environment.p2p_level;
  if (environment.p2p_disable == 1) options.p2p_level = PathType::loc;
  options.gdr_level = environment.net_gdr_level;
  options.gdr_read = flag(environment.net_gdr_read);
  options.gdr_c2c = flag(environment.net_gdr_c2c).value_or(true);
  options.pxn = !flag(environment.pxn_disable).value_or(false);
  options.pxn_c2c = flag(environment.pxn_c2c);
  options.nvb = !flag(environment.nvb_disable).value_or(false);
  if (environment.netdevs_policy) read_net_devices(*environment.netdevs_policy, options);
  return options;
}

}  // namespace shardsim::nccl
