#include "models/scenario/sweep/sweep_table.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardsim::scenario {

namespace {

struct Column {
  std::string title;
  std::vector<std::string> cells;
};

/// The last part of a dotted key, which is what people call it.
std::string short_name(const std::string& key) {
  const std::size_t dot = key.find_last_of('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

std::string cell(const SweepRow& row, MetricId metric) {
  const auto value = row.figure(metric);
  return value ? metric_text(metric, *value) : "";
}

Column figure_column(std::span<const SweepRow> rows, const char* title, const char* metric) {
  Column column{title, {}};
  for (const SweepRow& row : rows) column.cells.push_back(cell(row, metric_id(metric)));
  return column;
}

/// Share of the step in which communication is exposed.
Column exposed_column(std::span<const SweepRow> rows) {
  Column column{"exposed", {}};
  for (const SweepRow& row : rows) {
    const auto step = row.figure(metric_id("step.time_s"));
    const auto exposed = row.figure(metric_id("step.exposed_communication_s"));
    column.cells.push_back(step && exposed && *step > 0
                               ? fmt::format("{:.1f} %", *exposed / *step * 100)
                               : std::string());
  }
  return column;
}

/// What a map or list says, without its keys: "fsdp2 hybrid_shard".
std::string values_only(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_structured()) return text;
  std::string out;
  const auto flat = json.flatten();
  for (const auto& [key, value] : flat.items()) {
    out += (out.empty() ? "" : " ") + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::vector<Column> columns_of(std::span<const SweepRow> rows) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < rows.front().values.size(); ++i) {
    Column& column = columns.emplace_back(Column{short_name(rows.front().values[i].key), {}});
    for (const SweepRow& row : rows) {
      column.cells.push_back(i < row.values.size() ? values_only(row.values[i].value) : "");
    }
  }
  columns.push_back(figure_column(rows, "GPUs", "cluster.gpus"));
  columns.push_back(figure_column(rows, "step", "step.time_s"));
  columns.push_back(figure_column(rows, "tokens/s", "throughput.tokens_per_s"));
  columns.push_back(figure_column(rows, "per GPU", "throughput.tokens_per_s_per_gpu"));
  columns.push_back(figure_column(rows, "MFU", "throughput.mfu"));
  columns.push_back(exposed_column(rows));
  columns.push_back(figure_column(rows, "memory used", "memory.peak_used_bytes"));
  columns.push_back(figure_column(rows, "per M tokens", "cost.per_million_tokens"));
  std::erase_if(columns, [](const Column& column) {
    return std::ranges::all_of(column.cells, [](const std::string& text) { return text.empty(); });
  });
  return columns;
}

/// At most `most` characters of a value that may be a whole map.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  return text.substr(0, most - 3) + "...";
}

}  // namespace

std::string sweep_table(std::span<const SweepRow> rows) {
  constexpr std::size_t widest = 48;
  if (rows.empty()) return {};
  std::vector<Column> columns = columns_of(rows);
  std::vector<std::size_t> widths;
  for (Column& column : columns) {
    std::size_t width = column.title.size();
    for (std::string& text : column.cells) {
      text = shortened(std::move(text), widest);
      width = std::max(width, text.size());
    }
    widths.push_back(width);
  }
  std::string out = " ";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out += fmt::format("  {:>{}}", columns[i].title, widths[i]);
  }
  out += '\n';
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line = " ";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += fmt::format("  {:>{}}", columns[i].cells[r], widths[i]);
    }
    while (line.ends_with(' ')) line.pop_back();
    if (!rows[r].message.empty()) line += "  " + rows[r].message;
    out += line + '\n';
  }
  return out;
}

std::string sweep_note(std::span<const SweepRow> rows) {
  const auto ran =
      std::ranges::count_if(rows, [](const SweepRow& row) { return row.interval_s.has_value(); });
  const auto alone = std::ranges::count_if(
      rows, [](const SweepRow& row) { return row.interval_s.has_value() && !row.comparable; });
  if (alone == 0) return {};
  return fmt::format(
      "  No published run is comparable with {} of {} points; `run` names the nearest.\n", alone,
      ran);
}

}  // namespace shardsim::scenario
