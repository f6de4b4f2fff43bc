#include "models/scenario/validation/html_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simcore/output/html_text.hpp"

namespace shardsim::scenario {

using simcore::html_text;

namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Forecasts against published runs</title>
<style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 25%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; }
svg { width: 100%; max-width: 44rem; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.axis { stroke: var(--line); } .exact { stroke: currentColor; }
.band { fill: currentColor; fill-opacity: .07; } .mark { fill-opacity: .75; }
svg.key { width: 1em; display: inline-block; vertical-align: -.1em; }
:focus-visible { outline: 2px solid; outline-offset: 2px; }
</style>
</head>
<body>
<main>
<h1>Forecasts against published runs</h1>
)";

/// Distinct also for people who do not tell red from green (Okabe and Ito's palette).
constexpr auto colours = std::to_array<const char*>(
    {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999"});

/// And in shape: circle, square, triangle, diamond, around the origin.
constexpr auto shapes =
    std::to_array<const char*>({"M-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0", "M-3.5,-3.5h7v7h-7z",
                                "M0,-4.6L4.4,3.4H-4.4z", "M0,-5L4.4,0L0,5L-4.4,0z"});

/// Attributes of the mark of a series.
std::string mark(std::size_t series) {
  return fmt::format("class=\"mark\" fill=\"{}\" d=\"{}\"", colours[series % colours.size()],
                     shapes[series % shapes.size()]);
}

constexpr const char* scrolling =
    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\"><table>\n";

struct Point {
  const ValidationRow* row;
  std::size_t series;
};

/// The rows of one quantity that have both numbers, and the series (GPUs) that they belong to.
struct Plot {
  std::string_view quantity;
  std::vector<Point> points;
  std::vector<std::string> series;
  double low = 0;  ///< logarithms to base 10 of the axes' ends
  double high = 1;
};

/// The group that says on which GPU a run was: the one next to the finest.
std::string series_of(const ValidationRow& row) {
  std::string name = "all";
  int finest = -1;
  for (const ValidationGroup& group : row.groups) finest = std::max(finest, group.level);
  int best = -1;
  for (const ValidationGroup& group : row.groups) {
    if (group.level >= finest || group.level <= best) continue;
    best = group.level;
    name = group.name;
  }
  return name;
}

Plot make_plot(const ValidationReport& report, std::string_view quantity) {
  Plot plot;
  plot.quantity = quantity;
  double low = INFINITY;
  double high = 0;
  for (const ValidationRow& row : report.rows) {
    if (row.quantity != quantity || !row.scored || !row.relative_error()) continue;
    if (!(*row.measured > 0) || !(*row.predicted > 0)) continue;
    const std::string name = series_of(row);
    const auto found = std::ranges::find(plot.series, name);
    plot.points.push_back({&row, static_cast<std::size_t>(found - plot.series.begin())});
    if (found == plot.series.end()) plot.series.push_back(name);
    low = std::min({low, *row.measured, *row.predicted});
    high = std::max({high, *row.measured, *row.predicted});
  }
  if (plot.points.empty()) return plot;
  plot.low = std::log10(low) - 0.1;
  plot.high = std::log10(high) + 0.1;
  return plot;
}

constexpr double side = 560;  // of the square that holds the points
constexpr double left = 80;
constexpr double top = 20;

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {}

  std::string draw() {
    text_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"predicted against "
        "measured {}\">\n",
        left + side + 20, top + side + 60, html_text(plot_.quantity));
    band();
    axes();
    for (const Point& point : plot_.points) dot(point);
    return text_ + "</svg>\n";
  }

 private:
  double along(double value) const {
    return (std::log10(value) - plot_.low) / (plot_.high - plot_.low) * side;
  }
  double x(double value) const { return left + along(value); }
  double y(double value) const { return top + side - along(value); }

  /// Exact forecasts and 10 % to both sides.
  void band() {
    const double from = std::pow(10, plot_.low);
    const double to = std::pow(10, plot_.high);
    text_ += fmt::format(
        "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\" viewBox=\"{0} {1} {2} {2}\">", left,
        top, side);
    text_ += fmt::format(
        "<polygon class=\"band\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} "
        "{:.1f},{:.1f}\"/>",
        x(from), y(from * 1.1), x(to), y(to * 1.1), x(to), y(to * 0.9), x(from), y(from * 0.9));
    text_ += fmt::format(
        "<line class=\"exact\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/></svg>\n",
        x(from), y(from), x(to), y(to));
  }

  void axes() {
    for (int decade = static_cast<int>(std::floor(plot_.low)); decade <= plot_.high; ++decade) {
      for (const int step : {1, 2, 5}) tick(step * std::pow(10, decade));
    }
    text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured, {}</text>\n",
                         left + side / 2, top + side + 45, unit());
    text_ += fmt::format(
        "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">predicted, "
        "{}</text>\n",
        top + side / 2, unit());
  }

  /// Quantities end in their unit: step_time_s.
  std::string unit() const {
    return html_text(plot_.quantity.substr(plot_.quantity.find_last_of('_') + 1));
  }

  void tick(double value) {
    if (std::log10(value) < plot_.low || std::log10(value) > plot_.high) return;
    text_ += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><line "
        "class=\"axis\" x1=\"{3}\" y1=\"{4:.1f}\" x2=\"{5}\" y2=\"{4:.1f}\"/>",
        x(value), top, top + side, left, y(value), left + side);
    text_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text><text x=\"{}\" "
        "y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>\n",
        x(value), top + side + 18, value, left - 8, y(value) + 4, value);
  }

  void dot(const Point& point) {
    const ValidationRow& row = *point.row;
    text_ += fmt::format(
        "<path {} transform=\"translate({:.1f} {:.1f})\"><title>{}: measured {:.4g}, "
        "predicted {:.4g}, {:+.1f} %</title></path>\n",
        mark(point.series), x(*row.measured), y(*row.predicted), html_text(row.id), *row.measured,
        *row.predicted, *row.relative_error() * 100);
  }

  const Plot& plot_;
  std::string text_;
};

std::string plot_section(const ValidationReport& report, std::string_view quantity) {
  const Plot plot = make_plot(report, quantity);
  if (plot.points.empty()) return {};
  std::string text = fmt::format(
      "<h2>{}</h2>\n<p>{} runs; the line is an exact forecast, the band 10 % to both sides.</p>\n",
      html_text(quantity), plot.points.size());
  text += Drawing(plot).draw() + "<p>";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    text += fmt::format(
        "<svg class=\"key\" viewBox=\"-6 -6 12 12\" aria-hidden=\"true\"><path {}/></svg> {} "
        "&nbsp; ",
        mark(i), html_text(plot.series[i]));
  }
  return text + "</p>\n";
}

std::string groups_section(const ValidationReport& report) {
  std::string text = "<h2>Errors by group</h2>\n" + fmt::format(scrolling, "Errors by group") +
                     "<tr><th>group</th><th>rows</th>"
                     "<th>median</th><th>90th percentile</th><th>bias</th></tr>\n";
  for (const GroupScore& one : report.summary) {
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{:+.1f} %</td></tr>\n",
        html_text(one.group), one.rows, one.median_abs_error * 100, one.p90_abs_error * 100,
        one.bias * 100);
  }
  return text + "</table></div>\n";
}

std::string rows_section(const ValidationReport& report) {
  std::string text =
      "<details><summary>Every row with a forecast</summary>\n" +
      fmt::format(scrolling, "Every row with a forecast") +
      "<tr><th>row</th><th>quantity</th><th>measured</th><th>predicted</th><th>error</th></tr>\n";
  for (const ValidationRow& row : report.rows) {
    const auto error = row.relative_error();
    if (!error) continue;
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.6g}</td><td>{:.6g}</td><td>{:+.1f} %{}</td></tr>\n",
        html_text(row.id), html_text(row.quantity), *row.measured, *row.predicted, *error * 100,
        row.scored ? "" : " (not scored)");
  }
  return text + "</table></div></details>\n";
}

std::string reasons_section(const ValidationReport& report) {
  const auto counted = reasons(report);
  if (counted.empty()) return {};
  std::string text = "<p>" + html_text(to_text(mapped_share(report))) +
                     "</p>\n<h2>Runs without a forecast</h2>\n" +
                     fmt::format(scrolling, "Runs without a forecast") +
                     "<tr><th>reason</th>"
                     "<th>runs</th></tr>\n";
  for (const auto& [reason, count] : counted) {
    text += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", html_text(reason), count);
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string to_html(const ValidationReport& report) {
  std::vector<std::string_view> quantities;
  for (const ValidationRow& row : report.rows) {
    if (std::ranges::find(quantities, row.quantity) == quantities.end()) {
      quantities.push_back(row.quantity);
    }
  }
  std::string text = head;
  for (const std::string_view quantity : quantities) text += plot_section(report, quantity);
  text += groups_section(report) + rows_section(report) + reasons_section(report);
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace shardsim::scenario
