// What NCCL's host code decided, from data/connect: see README.md there.
#pragma once

#include <string>
#include <vector>

#include "models/nccl/channel_graph.hpp"
#include "models/nccl/connect.hpp"

namespace shardsim::nccl {

struct ConnectCase {
  std::string machine;
  int nodes = 1;
  int per_node = 1;
  ChannelGraph ring;
  ChannelGraph tree;
  ChannelGraph nvls;
  std::vector<std::vector<int>> rings;
  std::vector<std::vector<TreeLinks>> trees;
  std::vector<std::vector<NvlsTreeLinks>> nvls_trees;  ///< without the number of the head
};

/// All clusters of all machines.
std::vector<ConnectCase> connect_cases();

/// The text of topologies/nccl/`machine`.xml.
std::string machine_xml(const std::string& machine);

}  // namespace shardsim::nccl
