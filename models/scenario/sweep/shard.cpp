#include "models/scenario/sweep/shard.hpp"

#include <charconv>

#include <fmt/format.h>

namespace shardsim::scenario {

namespace {

bool read_all(std::string_view text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  return done.ec == std::errc{} && done.ptr == end;
}

}  // namespace

std::expected<Shard, std::string> parse_shard(std::string_view text) {
  Shard shard;
  constexpr std::int64_t most = 1'000'000;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && read_all(text.substr(0, slash), shard.number) &&
      read_all(text.substr(slash + 1), shard.of) && shard.number >= 1 && shard.number <= shard.of &&
      shard.of <= most) {
    return shard;
  }
  return std::unexpected(
      fmt::format("expected I/N with I from 1 to N, e.g. 1/8 for the first of eight parts, found "
                  "'{}'",
                  text));
}

}  // namespace shardsim::scenario
