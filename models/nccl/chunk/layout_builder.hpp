// Puts workers and connections together into a ChannelLayout.
//
// Workers are added in the order of rank and role; a worker's inputs and outputs stand in the order
// in which they are connected.
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/chunk/primitive.hpp"

namespace shardsim::nccl {

class LayoutBuilder {
 public:
  /// Returns the worker's number.
  std::int32_t add_worker(std::int32_t rank, std::int32_t role) {
    places_.push_back({});
    places_.back().place.rank = rank;
    places_.back().place.role = role;
    return static_cast<std::int32_t>(places_.size()) - 1;
  }

  /// Returns the connection's number.
  std::uint32_t connect(std::int32_t from, std::int32_t to, ConnectionKind kind) {
    const auto number = static_cast<std::uint32_t>(connections_.size());
    connections_.push_back({from, to, kind});
    return number;
  }
  void add_input(std::int32_t worker, std::uint32_t connection) {
    places_[static_cast<std::size_t>(worker)].inputs.push_back(connection);
  }
  void add_output(std::int32_t worker, std::uint32_t connection) {
    places_[static_cast<std::size_t>(worker)].outputs.push_back(connection);
  }

  ChannelLayout finish() const {
    ChannelLayout made;
    made.connections = connections_;
    for (const Entry& entry : places_) {
      WorkerPlace place = entry.place;
      place.first_input = static_cast<std::uint32_t>(made.inputs.size());
      place.inputs = static_cast<std::uint32_t>(entry.inputs.size());
      place.first_output = static_cast<std::uint32_t>(made.outputs.size());
      place.outputs = static_cast<std::uint32_t>(entry.outputs.size());
      made.inputs.insert(made.inputs.end(), entry.inputs.begin(), entry.inputs.end());
      made.outputs.insert(made.outputs.end(), entry.outputs.begin(), entry.outputs.end());
      made.workers.push_back(place);
    }
    return made;
  }

 private:
  struct Entry {
    WorkerPlace place;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t> outputs;
  };
  std::vector<Entry> places_;
  std::vector<ConnectionEnds> connections_;
};

}  // namespace shardsim::nccl
