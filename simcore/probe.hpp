// A probe: the point where a model says what happened, and where writers and statistics listen.
//
// A probe without listeners costs one comparison. Listeners are called in the order in which they
// were added and must not change the model.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace shardsim::simcore {

template <class... Arguments>
class Probe {
 public:
  void listen(std::function<void(const Arguments&...)> listener) {
    listeners_.push_back(std::move(listener));
  }
  bool has_listeners() const { return !listeners_.empty(); }
  void operator()(const Arguments&... arguments) const {
    for (const auto& listener : listeners_) listener(arguments...);
  }

 private:
  std::vector<std::function<void(const Arguments&...)>> listeners_;
};

}  // namespace shardsim::simcore
