#include "simcore/config/read_context.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace shardsim::simcore {

namespace {

constexpr std::size_t longest_key_shown = 60;

}  // namespace

bool ReadContext::error(const ConfigNode& node, std::string_view message, std::string suggestion) {
  if (node.kind() == NodeKind::invalid) return false;
  return error_at(node.where(), message, std::move(suggestion));
}

bool ReadContext::error_at(const SourceLocation& where, std::string_view message,
                           std::string suggestion) {
  std::string text = path_.empty() ? std::string(message) : fmt::format("{}: {}", path_, message);
  diagnostics_.error(where, std::move(text), std::move(suggestion));
  return false;
}

bool ReadContext::expected(const ConfigNode& node, std::string_view what, std::string suggestion) {
  return error(node, fmt::format("expected {}, found {}", what, node.describe()),
               std::move(suggestion));
}

ReadContext::Step::Step(ReadContext& context, std::string_view key)
    : context_(context), length_(context.path_.size()) {
  if (length_ > 0) context.path_ += '.';
  context.path_ += key.substr(0, longest_key_shown);
  if (key.size() > longest_key_shown) context.path_ += "...";
}

ReadContext::Step::Step(ReadContext& context, std::size_t index)
    : context_(context), length_(context.path_.size()) {
  context.path_ += fmt::format("[{}]", index);
}

ReadContext::Limits::Limits(ReadContext& context, const Bounds* bounds, const Bounds* count)
    : context_(context),
      bounds_(std::exchange(context.bounds_, bounds)),
      count_(std::exchange(context.count_, count)) {}

ReadContext::Limits::~Limits() {
  context_.bounds_ = bounds_;
  context_.count_ = count_;
}

}  // namespace shardsim::simcore
