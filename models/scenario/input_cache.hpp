// Topologies, GPUs and models that many runs read from the same files, read once.
//
// Safe to use from several threads. Only what was read without a message is kept, so messages come
// up for every run that they belong to. Assumes that the files do not change in the meantime.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "models/gpu/gpu_spec.hpp"
#include "models/network/topology_library.hpp"
#include "models/training/model_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// Values of one type by name.
template <class T>
class Remembered {
 public:
  /// A copy of what `load(diagnostics)` gave for this key before, or gives now.
  template <class Load>
  std::optional<T> get(const std::string& key, simcore::Diagnostics& diagnostics, Load&& load) {
    if (const auto known = find(key)) return *known;
    const std::size_t messages = diagnostics.all().size();
    std::optional<T> loaded = load();
    if (loaded && diagnostics.all().size() == messages) {
      const std::lock_guard lock(mutex_);
      values_.try_emplace(key, std::make_shared<const T>(*loaded));
    }
    return loaded;
  }

 private:
  std::shared_ptr<const T> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const T>> values_;
};

struct InputCache {
  Remembered<network::Topology> topologies;
  Remembered<gpu::GpuSpec> gpus;
  Remembered<training::ModelSpec> models;
};

}  // namespace shardsim::scenario
