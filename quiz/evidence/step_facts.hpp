// What a run measured, as the named facts that claims are about.
//
// Taken from the run's result and from the log of its measured step on the first simulated rank,
// together with the program that the rank ran: what was allocated and freed in which order, which
// collective ended last before a layer began, which one took a layer's gradients. A layer is a
// block of the model; the embedding and the head belong to none.
//
//   gpus, layers, tokens       counts; tokens are those of one GPU and step
//   nic_rate                   Gbit/s of a network card, if the nodes have any
//   step, compute, communication, exposed, hidden, forward, backward        times
//   hidden_share               of communication, 0 to 1
//   persistent, peak, capacity bytes: held between steps; most held; of the GPU
//   parameters, optimizer      bytes kept between steps
//   gradients                  bytes held when the optimizer begins
//   activations, most_gradients                bytes, the most held at once
//   state                      parameters + gradients + optimizer
//   weights_at_turn            bytes of weights, whole or sharded, between forward and backward;
//   gathered_at_turn           those of them that were gathered
//   layer_weights              bytes of one layer's whole weights, as it computes with them
//   whole_at_once, whole_at_turn, freed_after_forward                       counts of layers; the
//                              first counts those whose weights are arriving, too
//   fed_by_KIND                layers whose last collective before their forward is of the kind
//   fed_in, fed_out            bytes that such a collective takes from and leaves on each GPU
//   reduced_by_KIND            layers whose gradients a collective of the kind takes
//   gradient_in, gradient_out  bytes of it
//   backward_KIND              collectives of the kind in the backward pass
//   bits_per_weight            that the forward's all-gathers move
//   sent, sent_in_update       bytes that a GPU sends in a step (as a ring does), and of them in
//                              the optimizer's part
#pragma once

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"
#include "quiz/evidence/quantity.hpp"

namespace shardsim::quiz {

/// `output` is the run of `experiment`, which is of a model, not of prescribed times.
Facts measure(const scenario::Experiment& experiment, const scenario::RunOutput& output);

}  // namespace shardsim::quiz
