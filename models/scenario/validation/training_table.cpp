#include "models/scenario/validation/training_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::scenario {

using simcore::Diagnostics;

namespace {

constexpr auto text_columns = std::to_array<std::string_view>(
    {"row_id", "source_id", "trust", "task", "status", "framework", "gpu", "internode_net", "model",
     "precision", "sharding", "act_ckpt", "compile", "attn_kernel", "peak_memory_kind", "sim_ready",
     "notes"});
constexpr auto count_columns = std::to_array<std::string_view>(
    {"gpus", "gpus_per_node", "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab",
     "seq_len", "micro_batch", "grad_accum", "tp", "pp", "cp", "ep"});
constexpr auto amount_columns =
    std::to_array<std::string_view>({"step_time_s", "tokens_per_s_per_gpu", "peak_memory_GiB"});

/// The whole of `text` as a number, or nothing.
template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

bool is_count(std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000'000;
  const auto value = parse<std::int64_t>(text);
  return value && *value >= 1 && *value <= most;
}

bool is_amount(std::string_view text) {
  const auto value = parse<double>(text);
  return value && std::isfinite(*value) && *value > 0;
}

template <std::size_t Count>
void find_missing(const CsvTable& table, const std::array<std::string_view, Count>& names,
                  std::vector<std::string_view>& missing) {
  for (const std::string_view name : names) {
    if (!table.column(name)) missing.push_back(name);
  }
}

template <std::size_t Count>
void check_cells(const CsvTable& table, const std::array<std::string_view, Count>& names,
                 bool (*valid)(std::string_view), const char* expected, Diagnostics& diagnostics) {
  for (const std::string_view name : names) {
    const std::size_t column = *table.column(name);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string& text = table.text(row, column);
      if (text.empty() || valid(text)) continue;
      diagnostics.error(table.where(row, column),
                        fmt::format("{}: expected {} or nothing, found {}", name, expected,
                                    simcore::quote(text)));
    }
  }
}

/// A column of few words.
struct WordColumn {
  std::string_view name;
  std::vector<std::string> words;
};

void check_words(const CsvTable& table, const WordColumn& one, Diagnostics& diagnostics) {
  const std::size_t column = *table.column(one.name);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& text = table.text(row, column);
    if (text.empty() || std::ranges::find(one.words, text) != one.words.end()) continue;
    diagnostics.error(table.where(row, column),
                      fmt::format("{}: expected one of {} or nothing, found {}", one.name,
                                  fmt::join(one.words, ", "), simcore::quote(text)),
                      simcore::nearest_spelling(text, one.words));
  }
}

void check_identifiers(const CsvTable& table, Diagnostics& diagnostics) {
  const std::size_t column = *table.column("row_id");
  std::set<std::string_view> seen;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& id = table.text(row, column);
    if (id.empty()) {
      diagnostics.error(table.where(row, column), "row_id: a row without a name");
    } else if (!seen.insert(id).second) {
      diagnostics.error(table.where(row, column),
                        fmt::format("row_id: there is a row {} already", simcore::quote(id)));
    }
  }
}

}  // namespace

std::optional<TrainingTable> TrainingTable::read(std::shared_ptr<const simcore::SourceText> source,
                                                 Diagnostics& diagnostics) {
  auto cells = CsvTable::read(std::move(source), diagnostics);
  if (!cells) return std::nullopt;
  const std::size_t errors = diagnostics.error_count();
  TrainingTable table(std::move(*cells));
  table.check(diagnostics);
  if (diagnostics.error_count() != errors) return std::nullopt;
  return table;
}

void TrainingTable::check(Diagnostics& diagnostics) const {
  std::vector<std::string_view> missing;
  find_missing(table_, text_columns, missing);
  find_missing(table_, count_columns, missing);
  find_missing(table_, amount_columns, missing);
  if (!missing.empty()) {
    diagnostics.error(table_.whole(),
                      fmt::format("no table of training runs: missing column{} {}",
                                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
    return;
  }
  check_cells(table_, count_columns, is_count, "a whole number above 0", diagnostics);
  check_cells(table_, amount_columns, is_amount, "a number above 0", diagnostics);
  check_words(table_, {"trust", {"A", "B", "C"}}, diagnostics);
  check_words(table_, {"status", {"ok", "OOM"}}, diagnostics);
  check_words(table_, {"sim_ready", {"Y", "N"}}, diagnostics);
  check_identifiers(table_, diagnostics);
}

const std::string& TrainingTable::text(std::size_t row, std::string_view column) const {
  const auto index = table_.column(column);
  assert(index);
  return table_.text(row, *index);
}

std::optional<std::int64_t> TrainingRun::count(std::string_view column) const {
  return parse<std::int64_t>(text(column));
}

std::optional<double> TrainingRun::amount(std::string_view column) const {
  return parse<double>(text(column));
}

}  // namespace shardsim::scenario
