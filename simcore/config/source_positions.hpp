// From a byte offset in a text to its line and column, in time that does not grow with the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simcore/diagnostics.hpp"

namespace shardsim::simcore {

class SourcePositions {
 public:
  explicit SourcePositions(std::shared_ptr<const SourceText> source);

  /// Location of the character at `offset`; offsets beyond the end give the end.
  SourceLocation at(std::size_t offset) const;
  /// The source as a whole.
  SourceLocation whole() const { return {source_, 0, 0}; }
  const std::shared_ptr<const SourceText>& source() const { return source_; }

 private:
  std::size_t characters_before(std::size_t offset) const;

  std::shared_ptr<const SourceText> source_;
  std::vector<std::size_t> line_starts_;
  std::vector<std::size_t> block_characters_;  ///< characters before each block of bytes
};

}  // namespace shardsim::simcore
