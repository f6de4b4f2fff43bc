#include "models/scenario/sweep/curve_plot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "simcore/decimal_number.hpp"

namespace shardsim::scenario {

namespace {

constexpr int width = 64;
constexpr int height = 14;
constexpr std::size_t most_series = 8;
constexpr std::string_view marks = "ox+*#@%&";

/// Where values lie between the lowest and the highest.
class Scale {
 public:
  void include(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  void settle() {
    constexpr double far_apart = 20;
    logarithmic_ = low_ > 0 && high_ / low_ > far_apart;
  }
  /// 0..cells - 1
  int cell(double value, int cells) const {
    const double low = at(low_);
    const double high = at(high_);
    if (high <= low) return 0;
    return static_cast<int>(std::lround((at(value) - low) / (high - low) * (cells - 1)));
  }
  double low() const { return low_; }
  double high() const { return high_; }
  bool logarithmic() const { return logarithmic_; }

 private:
  double at(double value) const { return logarithmic_ ? std::log(value) : value; }
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  bool logarithmic_ = false;
};

std::optional<double> number_of(const std::string& text) {
  const auto number = simcore::parse_decimal_prefix(text);
  if (!number) return std::nullopt;
  return number->to_double();
}

std::string label_of(const SweepRow& row) {
  std::string label;
  for (std::size_t i = 1; i < row.values.size(); ++i) {
    const std::string& key = row.values[i].key;
    const std::size_t dot = key.find_last_of('.');
    label += fmt::format("{}{}={}", label.empty() ? "" : ", ",
                         dot == std::string::npos ? key : key.substr(dot + 1), row.values[i].value);
  }
  return label;
}

}  // namespace

CurvePlot::CurvePlot(const std::string& metric) {
  const auto found = find_metric(metric);
  known_ = found.has_value();
  metric_ = found.value_or(0);
  name_ = metrics[metric_].name();
}

/// The series of the other axes' values; null beyond as many as can be told apart.
CurvePlot::Series* CurvePlot::series_of(const SweepRow& row) {
  const std::string label = label_of(row);
  const auto found = std::ranges::find(series_, label, &Series::label);
  if (found != series_.end()) return &*found;
  if (series_.size() == most_series) return nullptr;
  return &series_.emplace_back(Series{label, {}});
}

void CurvePlot::add(const SweepRow& row) {
  const auto y = row.figure(metric_);
  if (!known_ || !y || row.values.empty() || !row.failed.empty()) return;
  x_key_ = row.values.front().key;
  const std::string& text = row.values.front().value;
  std::optional<double> x = number_of(text);
  if (!x) {
    auto label = std::ranges::find(x_labels_, text);
    if (label == x_labels_.end()) label = x_labels_.insert(label, text);
    x = static_cast<double>(label - x_labels_.begin());
  }
  if (Series* series = series_of(row)) series->points.push_back({*x, *y});
}

std::string CurvePlot::draw(bool unicode) const {
  Scale across;
  Scale up;
  for (const Series& one : series_) {
    for (const Point& point : one.points) {
      across.include(point.x);
      up.include(point.y);
    }
  }
  if (series_.empty()) return "  no point has this figure\n";
  across.settle();
  up.settle();
  std::vector<std::string> canvas(height, std::string(width, ' '));
  for (std::size_t i = 0; i < series_.size(); ++i) {
    for (const Point& point : series_[i].points) {
      const auto row = static_cast<std::size_t>(height - 1 - up.cell(point.y, height));
      canvas[row][static_cast<std::size_t>(across.cell(point.x, width))] = marks[i];
    }
  }
  const std::string top = metric_text(metric_, up.high());
  const std::string bottom = metric_text(metric_, up.low());
  const std::size_t margin = std::max(top.size(), bottom.size());
  std::string out = fmt::format("  {}{}\n", name_, up.logarithmic() ? " (logarithmic)" : "");
  for (std::size_t row = 0; row < canvas.size(); ++row) {
    const std::string& label = row == 0 ? top : row + 1 == canvas.size() ? bottom : std::string();
    out += fmt::format("  {:>{}} {}{}\n", label, margin, unicode ? "│" : "|", canvas[row]);
  }
  std::string floor;
  for (int i = 0; i < width; ++i) floor += unicode ? "─" : "-";
  out += fmt::format("  {:>{}} {}{}\n", "", margin, unicode ? "└" : "+", floor);
  const std::string left =
      x_labels_.empty() ? fmt::format("{:.6g}", across.low()) : x_labels_.front();
  const std::string right =
      x_labels_.empty() ? fmt::format("{:.6g}", across.high()) : x_labels_.back();
  const std::string middle = x_key_ + (across.logarithmic() ? " (logarithmic)" : "");
  const auto gap = static_cast<std::size_t>(width) -
                   std::min<std::size_t>(width, left.size() + right.size() + middle.size());
  out += fmt::format("  {:>{}}  {}{}{}{}{}\n", "", margin, left, std::string(gap / 2, ' '), middle,
                     std::string(gap - gap / 2, ' '), right);
  if (series_.size() > 1) {
    for (std::size_t i = 0; i < series_.size(); ++i) {
      out += fmt::format("  {}  {}\n", marks[i], series_[i].label);
    }
  }
  return out;
}

}  // namespace shardsim::scenario
