#include "models/nccl/planning_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::nccl {
namespace {

class EnvironmentReader {
 public:
  EnvironmentReader(const std::map<std::string, std::string>& environment,
                    const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics)
      : environment_(environment), where_(where), diagnostics_(diagnostics) {}

  const std::string* value(const std::string& name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? nullptr : &found->second;
  }

  std::optional<int> integer(const std::string& name, int least, int most) const {
    const std::string* const text = value(name);
    if (text == nullptr) return std::nullopt;
    const auto parsed = number(*text);
    if (parsed && *parsed >= least && *parsed <= most) return parsed;
    bad(name, fmt::format("a whole number from {} to {}", least, most));
    return std::nullopt;
  }

  std::optional<bool> flag(const std::string& name) const {
    const auto parsed = integer(name, 0, 1);
    return parsed ? std::optional(*parsed != 0) : std::nullopt;
  }

  /// A path type by name, or NCCL's former numbers 0 to 5.
  std::optional<PathType> level(const std::string& name) const {
    const std::string* const text = value(name);
    if (text == nullptr) return std::nullopt;
    const auto named = path_type_named(*text);
    if (named && *named <= PathType::sys) return named;
    constexpr std::array former = {PathType::loc, PathType::pix, PathType::pxb,
                                   PathType::phb, PathType::sys, PathType::sys};
    if (const auto old = number(*text); old && *old >= 0) {
      return former[static_cast<std::size_t>(std::min(*old, 5))];
    }
    bad(name, "LOC, NVL, PIX, PXB, PHB or SYS");
    return std::nullopt;
  }

  void bad(const std::string& name, std::string_view expected) const {
    diagnostics_.error(where_, fmt::format("{} is {}: expected {}", name,
                                           simcore::quote(*value(name)), expected));
  }

  static std::optional<int> number(std::string_view text) {
    int parsed = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, parsed);
    if (problem != std::errc{} || stop != end) return std::nullopt;
    return parsed;
  }

 private:
  const std::map<std::string, std::string>& environment_;
  const simcore::SourceLocation& where_;
  simcore::Diagnostics& diagnostics_;
};

void read_net_devices(const EnvironmentReader& reader, PlanningOptions& options) {
  const std::string* const text = reader.value("NCCL_NETDEVS_POLICY");
  if (text == nullptr || *text == "AUTO" || *text == "auto") return;
  if (*text == "ALL" || *text == "all") {
    options.net_devices = NetDevicesPolicy::all;
    return;
  }
  if (text->starts_with("MAX:") || text->starts_with("max:")) {
    const auto count = EnvironmentReader::number(std::string_view(*text).substr(4));
    if (count && *count > 0) {
      options.net_devices = NetDevicesPolicy::at_most;
      options.most_net_devices = *count;
      return;
    }
  }
  reader.bad("NCCL_NETDEVS_POLICY", "AUTO, ALL or MAX:n");
}

}  // namespace

PlanningOptions planning_options(const std::map<std::string, std::string>& environment,
                                 const simcore::SourceLocation& where,
                                 simcore::Diagnostics& diagnostics) {
  const EnvironmentReader reader(environment, where, diagnostics);
  PlanningOptions options;
  options.cross_nic = reader.integer("NCCL_CROSS_NIC", 0, 2).value_or(2);
  options.p2p_level = reader.level("NCCL_P2P_LEVEL");
  if (reader.flag("NCCL_P2P_DISABLE").value_or(false)) options.p2p_level = PathType::loc;
  options.gdr_level = reader.level("NCCL_NET_GDR_LEVEL");
  options.gdr_read = reader.flag("NCCL_NET_GDR_READ");
  options.gdr_c2c = reader.flag("NCCL_NET_GDR_C2C").value_or(true);
  options.pxn = !reader.flag("NCCL_PXN_DISABLE").value_or(false);
  options.pxn_c2c = reader.flag("NCCL_PXN_C2C");
  options.nvb = !reader.flag("NCCL_NVB_DISABLE").value_or(false);
  options.scatter_nets = reader.flag("NCCL_MNNVL_SCATTER_NETS_ENABLE").value_or(true);
  read_net_devices(reader, options);
  return options;
}

}  // namespace shardsim::nccl
