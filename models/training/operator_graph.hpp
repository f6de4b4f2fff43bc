// A part of a model (a block, the head) as a list of operators over named values.
//
// The list says what autograd would know: which values an operator reads and makes, which of them
// it saves for its backward pass, which kernels run in each direction, and which parameters get
// their gradient. OperatorTape turns it into allocations and launches.
// Assumes: every value is a tensor of its own (views share the value they look at); the list is in
// the order in which the framework runs it forward, and backward runs it in reverse.
// Leaves out: temporaries inside an operator, except the workspaces that are stated.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/cuda/program.hpp"

namespace shardsim::training {

using ValueId = std::size_t;

/// An activation. Its gradient, if it has one, is as large as it is.
struct Value {
  std::string name;
  simcore::Bytes bytes;
};

struct Launch {
  std::string name;
  cuda::KernelSpec kernel;
};

struct Operator {
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<ValueId> saved;           ///< among inputs and outputs: held until its backward ran
  std::vector<std::size_t> parameters;  ///< whose gradients its backward makes; index in the unit
  std::vector<Launch> forward;
  std::vector<Launch> backward;
  simcore::Bytes forward_workspace;   ///< memory held only while the forward kernels are issued
  simcore::Bytes backward_workspace;  ///< the same for backward
  bool passes_gradient = false;       ///< an addition: its inputs' gradients are its output's
  bool fuses_accumulation = false;    ///< backward adds what its inputs' gradients already hold
  bool kept_by_selective = false;     ///< selective checkpointing keeps its outputs
  bool is_module = false;             ///< a module with hooks, not a function
  /// The module that holds this one, and maybe others, within the part ("attention"); may be empty.
  std::string container;
};

struct OperatorGraph {
  std::vector<Value> values;
  std::vector<Operator> operators;
  ValueId input = 0;
  ValueId output = 0;
  /// Gradients of a value with several readers are added by kernels of their own (eager); without,
  /// the next kernel that reads them adds them up (compiled).
  bool adds_gradients = true;
  /// Whether selective checkpointing keeps outputs that backward never looks at (eager, which
  /// cannot know) or not (compiled).
  bool keeps_unused = true;
  simcore::SimTime addition_cpu_cost;  ///< CPU time to issue one such addition

  ValueId add_value(std::string name, simcore::Bytes bytes) {
    values.push_back({std::move(name), bytes});
    return values.size() - 1;
  }
};

}  // namespace shardsim::training
