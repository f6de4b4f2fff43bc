// Builds operator graphs of transformers, layer by layer, in the order in which forward runs them.
//
// Every function appends the operators of one layer and returns the value it makes. Saved values
// are those that PyTorch's autograd formulas keep: the input of a linear layer or norm, q, k, v,
// output and row statistic of fused attention, the inputs of products and activations.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/transformer_kernels.hpp"
#include "models/training/transformer_parameters.hpp"
#include "models/training/workload_spec.hpp"

namespace shardsim::training {

class LayerBuilder {
 public:
  /// `parameters` are the unit's; both references outlive the builder.
  LayerBuilder(const TransformerShape& shape, const KernelContext& context,
               const std::vector<ParameterShape>& parameters);

  ValueId input(std::string name, std::int64_t width);
  OperatorGraph finish(ValueId output);

  /// A linear layer with weight `module`.weight of (outputs, inputs).
  ValueId linear(std::string_view module, ValueId input, std::int64_t outputs, std::int64_t inputs);
  /// The model's norm over the hidden size. `readers`: how many layers read the output.
  /// `after_addition`: its input is also the residual stream, which compiled code adds up in the
  /// same kernel, forward (`adds_forward`) and backward.
  ValueId norm(std::string_view module, ValueId input, int readers, bool after_addition,
               bool adds_forward);
  /// RMS norm of `heads` heads one by one.
  ValueId head_norm(std::string_view module, ValueId input, std::int64_t heads);
  /// Residual addition; `fused` means that the next kernel does it when compiled.
  ValueId add(std::string name, ValueId residual, ValueId branch, bool fused);
  /// Dropout with a mask of one byte an element; compiled code draws it anew instead.
  ValueId dropout(const std::string& name, ValueId input, std::int64_t elements);

  ValueId gelu(const std::string& name, ValueId input, std::int64_t width);
  ValueId swiglu(const std::string& name, ValueId gate, ValueId up, std::int64_t width);

  struct Projections {
    ValueId q, k, v;  ///< all the same value if one layer makes them
  };
  /// q, k, v to the context that the output projection reads.
  ValueId attention(Projections projections, AttentionKind kind);
  Projections rotary(Projections projections);

  /// Final norm's output to logits, through `module` or a tied table (`parameter`).
  ValueId logits(std::string_view module, std::size_t parameter, ValueId input);
  /// Cross-entropy; holds `bytes_per_logit` at its peak.
  ValueId loss(ValueId logits, double bytes_per_logit);

 private:
  std::size_t parameter_index(std::string_view name) const;
  ValueId cross_entropy(ValueId logits, double kept);
  void add_loss_kernels(Operator& op, bool fused) const;
  Operator& append(std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs);
  ValueId activation(std::string name, std::int64_t width);
  ValueId fused_attention(Projections projections, AttentionKind kind);
  ValueId unfused_attention(Projections projections);
  Projections repeat_heads(Projections projections);
  Launch complex_rotary(Pass pass, std::string name, std::int64_t width) const;
  void add_fused_attention_backward(Operator& op, AttentionKind kind, bool packed) const;
  ValueId softmax(ValueId scores, std::int64_t elements);

  const TransformerShape& shape_;
  const KernelContext& context_;
  const std::vector<ParameterShape>& parameters_;
  OperatorGraph graph_;
  int linear_layers_ = 0;
};

/// Each of `values` once, in order.
std::vector<ValueId> distinct(std::initializer_list<ValueId> values);

}  // namespace shardsim::training
