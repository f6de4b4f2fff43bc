// A small picture of a figure over the first axis, in characters: one mark for each combination of
// the other axes, logarithmic where the values are far apart.
#pragma once

#include <string>
#include <vector>

#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::scenario {

class CurvePlot {
 public:
  /// `metric` as find_metric() takes it; another name draws nothing.
  explicit CurvePlot(const std::string& metric);

  void add(const SweepRow& row);
  /// Lines that end in newlines. Without `unicode` only ASCII is used.
  std::string draw(bool unicode) const;

 private:
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Series {
    std::string label;
    std::vector<Point> points;
  };
  Series* series_of(const SweepRow& row);

  std::string name_;
  bool known_ = false;
  MetricId metric_ = 0;
  std::string x_key_;
  std::vector<std::string> x_labels_;  ///< where the axis holds no numbers
  std::vector<Series> series_;
};

}  // namespace shardsim::scenario
