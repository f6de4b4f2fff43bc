#include "models/scenario/validation/validation_json.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json scaling_json(const ScalingReport& report) {
  Json rows = Json::array();
  for (const ScalingRow& row : report.rows) {
    rows.push_back({{"id", row.id},
                    {"curve", row.curve},
                    {"gpus", row.gpus},
                    {"smallest_gpus", row.smallest_gpus},
                    {"measured", row.measured},
                    {"predicted", or_null(row.predicted)},
                    {"why_not", row.why_not.empty() ? Json(nullptr) : Json(row.why_not)}});
  }
  Json summary = Json::array();
  for (const ScalingScore& one : report.summary) {
    summary.push_back({{"group", one.group},
                       {"rows", one.rows},
                       {"median_abs_points", one.median_abs_points},
                       {"p90_abs_points", one.p90_abs_points},
                       {"bias_points", one.bias_points}});
  }
  return {{"rows", std::move(rows)}, {"summary", std::move(summary)}};
}

using Quality = IntervalQuality;

Json of(const std::optional<Quality>& quality, double Quality::* figure) {
  return quality ? Json((*quality).*figure) : Json(nullptr);
}

Json leave_one_out_json(const LeaveOneOutReport& report) {
  Json scores = Json::array();
  for (const AccuracyScore& one : report.scores) {
    scores.push_back(
        {{"what", one.what},
         {"rows", one.rows},
         {"median_abs_error", one.median_abs_error},
         {"p90_abs_error", one.p90_abs_error},
         {"bias", one.bias},
         {"group_median_abs_error", one.group_median_abs_error},
         {"group_p90_abs_error", one.group_p90_abs_error},
         {"group_bias", one.group_bias},
         {"coverage_of_90_intervals", of(one.intervals, &Quality::coverage)},
         {"interval_width", of(one.intervals, &Quality::width)},
         {"interval_score", of(one.intervals, &Quality::score)},
         {"group_coverage_of_90_intervals", of(one.group_intervals, &Quality::coverage)},
         {"group_interval_width", of(one.group_intervals, &Quality::width)},
         {"group_interval_score", of(one.group_intervals, &Quality::score)}});
  }
  Json constants = Json::array();
  for (const RefitConstant& one : report.constants) {
    constants.push_back({{"gpu", one.gpu}, {"rows", one.rows}, {"factor", one.factor}});
  }
  return {{"scores", std::move(scores)}, {"constants", std::move(constants)}};
}

Json fit_json(const FitReport& report) {
  Json rows = Json::array();
  for (const FitRow& row : report.rows) {
    rows.push_back({{"id", row.id},
                    {"measured_fits", row.measured},
                    {"predicted_fits", row.predicted ? Json(*row.predicted) : Json(nullptr)},
                    {"mapped", row.mapped},
                    {"why_not", row.why_not.empty() ? Json(nullptr) : Json(row.why_not)}});
  }
  Json summary = Json::array();
  for (const FitScore& one : report.summary) {
    summary.push_back({{"group", one.group},
                       {"fits", one.fits},
                       {"fits_right", one.fits_right},
                       {"out_of_memory", one.shortages},
                       {"out_of_memory_right", one.shortages_right},
                       {"share_right", one.share_right()}});
  }
  return {{"rows", std::move(rows)}, {"summary", std::move(summary)}};
}

Json references_json(const std::vector<ReferenceSequence>& sequences) {
  Json list = Json::array();
  for (const ReferenceSequence& one : sequences) {
    list.push_back(
        {{"log", one.log},
         {"sizes", one.sizes},
         {"rows", one.rows},
         {"equal", one.difference.empty()},
         {"first_difference", one.difference.empty() ? Json(nullptr) : Json(one.difference)}});
  }
  return list;
}

}  // namespace

std::string to_json(const ValidationReport& report, const ScalingReport* scaling,
                    const LeaveOneOutReport* leave_one_out, const FitReport* fit,
                    const std::vector<ReferenceSequence>* references) {
  Json rows = Json::array();
  for (const ValidationRow& row : report.rows) {
    rows.push_back({{"id", row.id},
                    {"measured", or_null(row.measured)},
                    {"predicted", or_null(row.predicted)},
                    {"relative_error", or_null(row.relative_error())},
                    {"quantity", row.quantity},
                    {"mapped", row.mapped},
                    {"why_not", row.why_not.empty() ? Json(nullptr) : Json(row.why_not)}});
  }
  Json summary = Json::array();
  for (const GroupScore& one : report.summary) {
    summary.push_back({{"group", one.group},
                       {"rows", one.rows},
                       {"median_abs_error", one.median_abs_error},
                       {"p90_abs_error", one.p90_abs_error},
                       {"bias", one.bias}});
  }
  Json json{{"schema", "shardsim.validation/1"},
            {"rows", std::move(rows)},
            {"summary", std::move(summary)}};
  if (const MappedShare share = mapped_share(report); share.runs > 0) {
    json["fsdp_runs"] = {{"runs", share.runs}, {"mapped", share.mapped}};
  }
  if (scaling != nullptr) json["scaling"] = scaling_json(*scaling);
  if (leave_one_out != nullptr) json["leave_one_out"] = leave_one_out_json(*leave_one_out);
  if (fit != nullptr) json["fit"] = fit_json(*fit);
  if (references != nullptr) json["reference"] = references_json(*references);
  return json.dump(1) + "\n";
}

std::string to_json(const ValidationReport& report) { return to_json(report, nullptr, nullptr); }

}  // namespace shardsim::scenario
