#include "models/nccl/environment_lists.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {

using simcore::quote;

namespace {

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Parts of `text` between separators; NCCL skips empty ones.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<std::size_t> index_of(std::string_view word,
                                    std::span<const std::string_view> names) {
  const auto found =
      std::ranges::find_if(names, [&](std::string_view name) { return same_word(name, word); });
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string nearest(std::string_view word, std::span<const std::string_view> names) {
  return simcore::nearest_spelling(word, {names.begin(), names.end()});
}

class ListReader {
 public:
  ListReader(std::string_view variable, NcclVersion version, const simcore::SourceLocation& where,
             simcore::Diagnostics& diagnostics)
      : variable_(variable),
        by_collective_(tuning_constants(version).rules.lists_by_collective),
        where_(where),
        diagnostics_(diagnostics) {}

  template <class Row>
  void read(std::string_view value, std::span<const std::string_view> names,
            PerCollective<Row>& rows) {
    PerCollective<Row> changed = rows;
    const auto groups = by_collective_ ? parts_of(value, ';') : std::vector{value};
    if (groups.empty() || value.empty()) return fail("is empty", {});
    for (std::size_t i = 0; i < groups.size() && !failed_; ++i) {
      read_group(groups[i], i == 0, names, changed);
    }
    if (!failed_) rows = changed;
  }

 private:
  template <class Row>
  void read_group(std::string_view group, bool first, std::span<const std::string_view> names,
                  PerCollective<Row>& rows) {
    std::optional<std::size_t> only;
    if (const auto colon = group.find(':'); by_collective_ && colon != group.npos) {
      const auto prefix = group.substr(0, colon);
      only = index_of(prefix, collective_names.values);
      if (!only) {
        return fail(fmt::format("names no collective: {}", quote(prefix)),
                    nearest(prefix, collective_names.values));
      }
      group.remove_prefix(colon + 1);
    } else if (!first) {
      return fail(fmt::format("needs a collective before {}", quote(group)), {});
    }
    const bool excludes = group.starts_with('^');
    if (excludes) group.remove_prefix(1);
    Row row;
    row.values.fill(excludes ? Permission::allowed : Permission::refused);
    for (const std::string_view word : parts_of(group, ',')) {
      if (const auto index = index_of(word, names)) {
        row.values[*index] = excludes ? Permission::refused : Permission::allowed;
      } else {
        unknown(word, names);
      }
    }
    for (std::size_t i = 0; i < rows.values.size(); ++i) {
      if (!only || *only == i) rows.values[i] = row;
    }
  }

  // Before 2.24 NCCL passed over names that it did not know.
  void unknown(std::string_view word, std::span<const std::string_view> names) {
    const std::string message = fmt::format("knows no {}", quote(word));
    if (by_collective_) return fail(message, nearest(word, names));
    diagnostics_.warning(where_, fmt::format("{} {}; it is ignored", variable_, message),
                         nearest(word, names));
  }

  void fail(const std::string& message, std::string suggestion) {
    failed_ = true;
    diagnostics_.error(where_, fmt::format("{} {}", variable_, message), std::move(suggestion));
  }

  std::string_view variable_;
  bool by_collective_;
  const simcore::SourceLocation& where_;
  simcore::Diagnostics& diagnostics_;
  bool failed_ = false;
};

}  // namespace

Permissions::Permissions() {
  for (const Collective collective : all_collectives) {
    algorithms[collective].values.fill(Permission::allowed);
    protocols[collective].values.fill(Permission::allowed);
    protocols[collective][Protocol::ll128] = Permission::where_safe;
  }
}

void read_algorithm_list(std::string_view value, NcclVersion version,
                         const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics,
                         Permissions& permissions) {
  ListReader("NCCL_ALGO", version, where, diagnostics)
      .read(value, algorithm_names.values, permissions.algorithms);
}

void read_protocol_list(std::string_view value, NcclVersion version,
                        const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics,
                        Permissions& permissions) {
  ListReader("NCCL_PROTO", version, where, diagnostics)
      .read(value, protocol_names.values, permissions.protocols);
}

}  // namespace shardsim::nccl
