#include "simcore/config/source_positions.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace shardsim::simcore {

namespace {

constexpr std::size_t block_bytes = 1024;

/// Bytes that begin a character of valid UTF-8.
std::size_t count_leads(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

SourcePositions::SourcePositions(std::shared_ptr<const SourceText> source)
    : source_(std::move(source)), line_starts_{0}, block_characters_{0} {
  const std::string_view text = source_->text;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    line_starts_.push_back(at + 1);
  }
  for (std::size_t at = 0; at + block_bytes <= text.size(); at += block_bytes) {
    block_characters_.push_back(block_characters_.back() +
                                count_leads(text.substr(at, block_bytes)));
  }
}

std::size_t SourcePositions::characters_before(std::size_t offset) const {
  const std::size_t block = offset / block_bytes;
  const std::size_t start = block * block_bytes;
  return block_characters_[block] +
         count_leads(std::string_view(source_->text).substr(start, offset - start));
}

SourceLocation SourcePositions::at(std::size_t offset) const {
  offset = std::min(offset, source_->text.size());
  const auto after = std::ranges::upper_bound(line_starts_, offset);
  const std::size_t line = static_cast<std::size_t>(after - line_starts_.begin());
  const std::size_t column = characters_before(offset) - characters_before(line_starts_[line - 1]);
  return {source_, static_cast<int>(line), static_cast<int>(column) + 1};
}

}  // namespace shardsim::simcore
