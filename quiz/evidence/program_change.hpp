// A mechanism broken or replaced on purpose: what a run would be if an option of the quiz were
// true.
//
// A change rewrites the program that the training strategy recorded (and, for `cpu`, the device),
// and the simulator then runs that program like any other. Some stand in the question bank as runs
// of their own; all of them serve to show that no claim holds whatever happens.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/cuda/program.hpp"
#include "models/scenario/hardware_changes.hpp"
#include "simcore/config/codec.hpp"

namespace shardsim::quiz {

enum class ProgramChange : std::uint8_t {
  none,
  forward_only,        ///< neither backward pass nor optimizer
  one_bit_weights,     ///< an all-gather moves one bit of each weight
  cpu,                 ///< a GPU computes as its share of the node's CPUs would
  one_stream,          ///< everything in one stream: nothing overlaps
  broadcast_weights,   ///< weights come by broadcast from a rank that has them whole
  scatter_weights,     ///< what feeds a layer leaves each rank a slice
  barrier_weights,     ///< what feeds a layer moves nothing
  exchange_gradients,  ///< gradients change places unsummed (all-to-all)
  gather_gradients,    ///< gradients are gathered unsummed
  drop_gradients,      ///< gradients are not communicated
  keep_odd_layers,     ///< every other layer stays whole until backward
  no_activations,      ///< activations take no room on the device
  no_communication,    ///< collectives move nothing
};

/// Rewrites `program`. `cpu` and `none` leave it as it is.
void apply(ProgramChange change, cuda::Program& program);

/// What `change` makes of the hardware.
///
/// cpu: a DGX H200 has two Xeon Platinum 8480C for its eight GPUs. Intel's datasheet gives 56 cores
/// at 2.0 GHz (AMX: 2,048 bf16 operations a cycle and core, 229 TFLOP/s) and 307 GB/s of memory
/// bandwidth a socket; a quarter of that stands against 989 TFLOP/s and 4.8 TB/s of an H200.
scenario::HardwareChanges hardware_of(ProgramChange change);

}  // namespace shardsim::quiz

namespace shardsim::simcore {

template <>
struct EnumNames<quiz::ProgramChange> {
  using enum quiz::ProgramChange;
  static constexpr auto values =
      std::to_array<EnumName<quiz::ProgramChange>>({{"none", none},
                                                    {"forward_only", forward_only},
                                                    {"one_bit_weights", one_bit_weights},
                                                    {"cpu", cpu},
                                                    {"one_stream", one_stream},
                                                    {"broadcast_weights", broadcast_weights},
                                                    {"scatter_weights", scatter_weights},
                                                    {"barrier_weights", barrier_weights},
                                                    {"exchange_gradients", exchange_gradients},
                                                    {"gather_gradients", gather_gradients},
                                                    {"drop_gradients", drop_gradients},
                                                    {"keep_odd_layers", keep_odd_layers},
                                                    {"no_activations", no_activations},
                                                    {"no_communication", no_communication}});
};

}  // namespace shardsim::simcore
