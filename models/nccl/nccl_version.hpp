// A version of NCCL: its decisions changed from release to release.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim::nccl {

/// 2.30.7 is {30, 7}: every version spoken of here begins with 2.
struct NcclVersion {
  int minor = 30;
  int patch = 7;
  constexpr auto operator<=>(const NcclVersion&) const = default;
};

/// "2.18", "2.18.3" or "2.18.3-1"; nothing for any other text. Without a patch it is the first
/// release of that minor version, 2.18.0.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);
std::string to_text(NcclVersion version);

}  // namespace shardsim::nccl
