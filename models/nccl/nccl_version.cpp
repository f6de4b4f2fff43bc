#include "models/nccl/nccl_version.hpp"

#include <charconv>

#include <fmt/format.h>

namespace shardsim::nccl {
namespace {

/// Takes a number of at most three digits off the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || value < 0 || value > 999) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take_letter(std::string_view& text, char letter) {
  if (text.empty() || text.front() != letter) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<NcclVersion> parse_nccl_version(std::string_view text) {
  if (take_number(text) != 2 || !take_letter(text, '.')) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor) return std::nullopt;
  NcclVersion version{*minor, 0};
  if (take_letter(text, '.')) {
    const auto patch = take_number(text);
    if (!patch) return std::nullopt;
    version.patch = *patch;
  }
  // A packager's suffix, as in "2.18.3-1".
  if (take_letter(text, '-') && !take_number(text)) return std::nullopt;
  return text.empty() ? std::optional(version) : std::nullopt;
}

std::string to_text(NcclVersion version) {
  return fmt::format("2.{}.{}", version.minor, version.patch);
}

}  // namespace shardsim::nccl
