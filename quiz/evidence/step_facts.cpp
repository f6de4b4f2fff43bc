#include "quiz/evidence/step_facts.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/cuda/collective_name.hpp"
#include "models/scenario/step_analysis.hpp"
#include "quiz/evidence/step_memory.hpp"
#include "quiz/evidence/step_phases.hpp"

namespace shardsim::quiz {

using cuda::CollectiveKind;
using cuda::MemoryKind;
using cuda::OpCode;
using simcore::SimTime;

namespace {

constexpr std::array kinds{CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                           CollectiveKind::all_reduce, CollectiveKind::broadcast,
                           CollectiveKind::reduce,     CollectiveKind::alltoall,
                           CollectiveKind::sendrecv};

/// Share of `bytes` that each rank puts in, and that each rank is left with.
struct Ends {
  double in = 0;
  double out = 0;
};
Ends ends_of(const cuda::CollectiveSpec& spec, int ranks) {
  const double whole = static_cast<double>(spec.bytes.count);
  const double slice = whole / ranks;
  if (spec.kind == CollectiveKind::all_gather) return {slice, whole};
  if (spec.kind == CollectiveKind::reduce_scatter) return {whole, slice};
  return {whole, whole};
}

class Measurement {
 public:
  Measurement(const scenario::Experiment& experiment, const scenario::RunOutput& output)
      : experiment_(experiment),
        result_(output.result),
        log_(output.logs.front()),
        program_(*log_.program),
        phases_(phases_of(program_, log_.first_op)) {}

  Facts run() {
    find_layers();
    count("gpus", result_.gpus);
    count("layers", layers_);
    if (const auto& nics = experiment_.topology.spec.node.nics) {
      count("nic_rate", nics->link.bandwidth.bits_per_second() * 1e-9);
    }
    const training::WorkloadSpec& work = experiment_.scenario.spec.workload;
    count("tokens", static_cast<double>(work.sequence_length.value_or(0) * work.micro_batch_size *
                                        work.gradient_accumulation));
    times();
    memory();
    feeding();
    gradients();
    traffic();
    return std::move(facts_);
  }

 private:
  void count(const std::string& name, double value) { facts_[name] = {value, no_dimension}; }
  void bytes(const std::string& name, double value) { facts_[name] = {value, in_bytes}; }
  void seconds(const std::string& name, double value) { facts_[name] = {value, in_seconds}; }

  const std::string& name_of(std::uint32_t op) const {
    return program_.names[program_.ops[op].name];
  }
  const cuda::CollectiveSpec& collective(std::uint32_t op) const {
    return program_.collectives[program_.ops[op].index];
  }
  bool is_collective(std::uint32_t op) const {
    return program_.ops[op].code == OpCode::collective && log_.ran(op);
  }
  /// A kernel of the model itself, not a copy that exists because of sharding.
  bool computes(std::uint32_t op) const {
    const cuda::Op& entry = program_.ops[op];
    if (entry.code != OpCode::kernel || !log_.ran(op)) return false;
    const cuda::KernelCategory category = program_.kernels[entry.index].category;
    return category != cuda::KernelCategory::copy && category != cuda::KernelCategory::optimizer;
  }
  int group_size(const cuda::CollectiveSpec& spec) const {
    const auto& memberships = experiment_.layout.memberships[log_.slot];
    const std::uint32_t instance = memberships[spec.communicator].instance;
    return static_cast<int>(experiment_.layout.communicators[instance].groups.front().size());
  }

  /// Of each layer: its first kernel in forward, its last in backward.
  void find_layers() {
    for (std::uint32_t op = phases_.begin; op < phases_.update; ++op) {
      if (!computes(op)) continue;
      const int layer = layer_of(name_of(op));
      if (layer < 0) continue;
      if (op < phases_.turn) {
        first_forward_.try_emplace(layer, op);
      } else {
        last_backward_[layer] = op;
      }
    }
    layers_ = static_cast<int>(first_forward_.size());
  }

  void times() {
    const scenario::StepResult& step = result_.step;
    seconds("step", step.time.seconds());
    seconds("compute", step.compute.seconds());
    seconds("communication", step.communication.seconds());
    seconds("exposed", step.exposed_communication.seconds());
    seconds("hidden", step.communication.seconds() * step.overlap_fraction);
    count("hidden_share", step.overlap_fraction);
    SimTime forward;
    SimTime backward;
    for (std::uint32_t op = phases_.begin; op < phases_.update; ++op) {
      if (!computes(op)) continue;
      const SimTime took = log_.record(op).end - log_.record(op).start;
      (op < phases_.turn ? forward : backward) += took;
    }
    seconds("forward", forward.seconds());
    seconds("backward", backward.seconds());
  }

  void memory() {
    bytes("persistent", static_cast<double>(result_.memory.persistent.count));
    bytes("peak", static_cast<double>(result_.memory.peak_allocated.count));
    bytes("capacity", static_cast<double>(result_.memory.capacity.count));
    StepMemory held(program_, phases_.begin);
    const auto of = [&held](MemoryKind kind) { return held.bytes(kind); };
    const double parameters = of(MemoryKind::parameters);
    const double optimizer = of(MemoryKind::optimizer);
    double activations = 0;
    double gradients = 0;
    int most_whole = 0;
    int freed = 0;
    for (std::uint32_t op = phases_.begin; op <= phases_.end; ++op) {
      if (op == phases_.turn) note_turn(held);
      if (op == phases_.update) bytes("gradients", of(MemoryKind::gradients));
      if (begins_next_layer(op) && !held.whole(layer_of(name_of(op)) - 1)) ++freed;
      if (op == phases_.turn && layers_ > 0 && !held.whole(layers_ - 1)) ++freed;
      held.apply(op);
      activations = std::max(activations, of(MemoryKind::activations));
      gradients = std::max(gradients, of(MemoryKind::gradients));
      most_whole = std::max(most_whole, held.whole_or_arriving_layers());
    }
    bytes("parameters", parameters);
    bytes("optimizer", optimizer);
    bytes("activations", activations);
    bytes("most_gradients", gradients);
    bytes("state", parameters + optimizer + facts_["gradients"].value);
    count("whole_at_once", most_whole);
    count("freed_after_forward", freed);
    bytes("layer_weights", held.most_of_layer(layers_ / 2));
  }

  bool begins_next_layer(std::uint32_t op) const {
    if (op >= phases_.turn || program_.ops[op].code != OpCode::kernel) return false;
    const int layer = layer_of(name_of(op));
    const auto found = first_forward_.find(layer);
    return layer > 0 && found != first_forward_.end() && found->second == op;
  }

  void note_turn(const StepMemory& held) {
    bytes("weights_at_turn",
          held.bytes(MemoryKind::parameters) + held.bytes(MemoryKind::gathered_parameters));
    bytes("gathered_at_turn", held.bytes(MemoryKind::gathered_parameters));
    count("whole_at_turn", held.whole_layers());
  }

  /// The collective that ended last before `time`.
  std::optional<std::uint32_t> last_before(SimTime time) const {
    std::optional<std::uint32_t> last;
    for (std::uint32_t op = phases_.begin; op < phases_.turn; ++op) {
      if (!is_collective(op) || log_.record(op).end > time) continue;
      if (!last || log_.record(op).end > log_.record(*last).end) last = op;
    }
    return last;
  }

  void feeding() {
    std::map<CollectiveKind, int> by_kind;
    Ends sum;
    double bits = 0;
    int fed = 0;
    for (const auto& [layer, op] : first_forward_) {
      const auto last = last_before(log_.record(op).start);
      if (!last) continue;
      const cuda::CollectiveSpec& spec = collective(*last);
      const Ends ends = ends_of(spec, group_size(spec));
      ++by_kind[spec.kind];
      ++fed;
      sum.in += ends.in;
      sum.out += ends.out;
      bits += 8 * ends.out * static_cast<double>(gpu::bytes_per_element(spec.type));
    }
    for (const CollectiveKind kind : kinds) {
      count(std::string("fed_by_") + cuda::collective_name(kind), by_kind[kind]);
    }
    const double layers = std::max(1, fed);
    bytes("fed_in", sum.in / layers);
    bytes("fed_out", sum.out / layers);
    const double whole = facts_["layer_weights"].value;
    count("bits_per_weight", whole > 0 ? bits / layers / whole : 0);
  }

  /// The first collective named after the layer that is issued after its last backward kernel.
  std::optional<std::uint32_t> takes_gradients(int layer, std::uint32_t after) const {
    for (std::uint32_t op = after; op < phases_.end; ++op) {
      if (is_collective(op) && layer_of(name_of(op)) == layer) return op;
    }
    return std::nullopt;
  }

  void gradients() {
    std::map<CollectiveKind, int> by_kind;
    Ends sum;
    int reduced = 0;
    for (const auto& [layer, last] : last_backward_) {
      const auto op = takes_gradients(layer, last);
      if (!op) continue;
      const cuda::CollectiveSpec& spec = collective(*op);
      const Ends ends = ends_of(spec, group_size(spec));
      ++by_kind[spec.kind];
      ++reduced;
      sum.in += ends.in;
      sum.out += ends.out;
    }
    for (const CollectiveKind kind : kinds) {
      count(std::string("reduced_by_") + cuda::collective_name(kind), by_kind[kind]);
    }
    bytes("gradient_in", sum.in / std::max(1, reduced));
    bytes("gradient_out", sum.out / std::max(1, reduced));
  }

  void traffic() {
    double sent = 0;
    double in_update = 0;
    std::map<CollectiveKind, int> in_backward;
    for (std::uint32_t op = phases_.begin; op <= phases_.end; ++op) {
      if (!is_collective(op)) continue;
      const cuda::CollectiveSpec& spec = collective(op);
      const double bytes_sent =
          static_cast<double>(spec.bytes.count) * scenario::bus_factor(spec.kind, group_size(spec));
      sent += bytes_sent;
      if (op >= phases_.update) in_update += bytes_sent;
      if (op >= phases_.turn && op < phases_.update) ++in_backward[spec.kind];
    }
    bytes("sent", sent);
    bytes("sent_in_update", in_update);
    for (const CollectiveKind kind : kinds) {
      count(std::string("backward_") + cuda::collective_name(kind), in_backward[kind]);
    }
  }

  const scenario::Experiment& experiment_;
  const scenario::Result& result_;
  const scenario::StepLog& log_;
  const cuda::Program& program_;
  const StepPhases phases_;
  int layers_ = 0;
  std::map<int, std::uint32_t> first_forward_;
  std::map<int, std::uint32_t> last_backward_;
  Facts facts_;
};

}  // namespace

Facts measure(const scenario::Experiment& experiment, const scenario::RunOutput& output) {
  return Measurement(experiment, output).run();
}

}  // namespace shardsim::quiz
