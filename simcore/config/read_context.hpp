// What a reader of values carries along: where messages go, and the dotted path to the value.
#pragma once

#include <string>
#include <string_view>

#include "simcore/config/config_node.hpp"
#include "simcore/config/type_schema.hpp"

namespace shardsim::simcore {

class ReadContext {
 public:
  /// `document_type` describes the type of the whole document, for hints; null if there is none.
  explicit ReadContext(Diagnostics& diagnostics, TypeSchema (*document_type)() = nullptr)
      : diagnostics_(diagnostics), document_(document_type) {}
  ReadContext(const ReadContext&) = delete;
  ReadContext& operator=(const ReadContext&) = delete;

  Diagnostics& diagnostics() { return diagnostics_; }
  /// Path of the value being read, "cluster.nodes" or "perturb[2].rank"; empty at the root.
  const std::string& path() const { return path_; }
  TypeSchema (*document() const)() { return document_; }
  /// What the field's declaration allows; null if it sets no bounds.
  const Bounds* bounds() const { return bounds_; }
  const Bounds* count() const { return count_; }

  /// Reports "path: message" at the node and returns false. Silent for a node that is invalid
  /// already.
  bool error(const ConfigNode& node, std::string_view message, std::string suggestion = {});
  bool error_at(const SourceLocation& where, std::string_view message, std::string suggestion = {});
  /// "expected <what>, found <node>".
  bool expected(const ConfigNode& node, std::string_view what, std::string suggestion = {});

  /// One step down the path for as long as it lives.
  class Step {
   public:
    Step(ReadContext& context, std::string_view key);
    Step(ReadContext& context, std::size_t index);
    ~Step() { context_.path_.resize(length_); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    ReadContext& context_;
    std::size_t length_;
  };

  /// Bounds of the field being read, for as long as it lives.
  class Limits {
   public:
    Limits(ReadContext& context, const Bounds* bounds, const Bounds* count);
    ~Limits();
    Limits(const Limits&) = delete;
    Limits& operator=(const Limits&) = delete;

   private:
    ReadContext& context_;
    const Bounds* bounds_;
    const Bounds* count_;
  };

 private:
  Diagnostics& diagnostics_;
  TypeSchema (*document_)();
  std::string path_;
  const Bounds* bounds_ = nullptr;
  const Bounds* count_ = nullptr;
};

}  // namespace shardsim::simcore
