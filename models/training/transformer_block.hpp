// One pre-norm transformer block, the head and the loss as operator graphs.
//
// Block: x + attention(norm(x)), then x + feed_forward(norm(x)). Eager graphs have every PyTorch
// operation of their own, compiled ones what torch.compile leaves between the matrix products.
#pragma once

#include "models/training/transformer_layers.hpp"

namespace shardsim::training {

/// `parameters` are block_parameters(shape). The graph maps the block's input to its output.
OperatorGraph block_graph(const TransformerShape& shape, const KernelContext& context,
                          const std::vector<ParameterShape>& parameters, AttentionKind attention);

/// `parameters` are root_parameters(shape). The graph maps the last block's output to the logits.
OperatorGraph head_graph(const TransformerShape& shape, const KernelContext& context,
                         const std::vector<ParameterShape>& parameters);

/// The graph maps the logits to the loss.
OperatorGraph loss_graph(const TransformerShape& shape, const KernelContext& context,
                         double bytes_per_logit);

}  // namespace shardsim::training
