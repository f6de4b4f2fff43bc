#include "models/scenario/sweep/price_list.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::scenario {

void GpuPrice::describe(simcore::Fields<GpuPrice>& fields) {
  fields
      .required("per_gpu_hour", &GpuPrice::per_gpu_hour,
                "Price of one GPU for one hour, in the list's currency.")
      .range(0.0, 1e6);
  fields.optional("source", &GpuPrice::source, "Where the price is from.");
}

void PriceList::describe(simcore::Fields<PriceList>& fields) {
  fields.optional("currency", &PriceList::currency, "ISO 4217 code.");
  fields.required("dated", &PriceList::dated, "The day, or month, that the prices are of.")
      .example("2026-01-31");
  fields.optional("note", &PriceList::note, "What the prices are, and what not.");
  fields.required("gpus", &PriceList::gpus,
                  "Prices by the GPU's name, as results give it (`cluster.gpu`).");
}

namespace {

/// YYYY-MM-DD or YYYY-MM, of the calendar.
bool is_date(std::string_view text) {
  const auto number = [text](std::size_t from, std::size_t length) -> std::optional<int> {
    int value = 0;
    const char* const end = text.data() + from + length;
    const auto [stop, error] = std::from_chars(text.data() + from, end, value);
    if (error != std::errc() || stop != end || value < 0) return std::nullopt;
    return value;
  };
  const bool month_only = text.size() == 7;
  if ((text.size() != 10 && !month_only) || text[4] != '-') return false;
  if (!month_only && text[7] != '-') return false;
  const auto year = number(0, 4);
  const auto month = number(5, 2);
  const auto day = month_only ? std::optional<int>(1) : number(8, 2);
  if (!year || !month || !day) return false;
  if (*month < 1 || *month > 12) return false;
  constexpr std::array<int, 12> lengths{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
  const int length = lengths[static_cast<std::size_t>(*month - 1)] + int{leap && *month == 2};
  return *day >= 1 && *day <= length;
}

}  // namespace

void PriceList::check(const PriceList& list, const simcore::ConfigNode& node,
                      simcore::Diagnostics& diagnostics) {
  if (is_date(list.dated)) return;
  diagnostics.error(node.where_value("dated"),
                    fmt::format("dated: expected a day or a month, 2026-01-31 or 2026-01, found {}",
                                simcore::quote(list.dated)));
}

std::optional<Cost> cost_of(const Result& result, const PriceList& prices) {
  const auto price = prices.gpus.find(result.gpu);
  if (price == prices.gpus.end() || result.step.time <= simcore::SimTime{}) return std::nullopt;
  constexpr double seconds_per_hour = 3600;
  Cost cost;
  cost.per_hour = price->second.per_gpu_hour * result.gpus;
  cost.per_step = cost.per_hour * result.step.time.seconds() / seconds_per_hour;
  if (result.throughput.tokens_per_s > 0) {
    cost.per_million_tokens =
        cost.per_hour / seconds_per_hour / result.throughput.tokens_per_s * 1e6;
  }
  return cost;
}

}  // namespace shardsim::scenario
