#include "models/scenario/sweep/price_list.hpp"

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
  fields.required("dated", &PriceList::dated, "The day that the prices are of.")
      .example("2026-01-31");
  fields.optional("note", &PriceList::note, "What the prices are, and what not.");
  fields.required("gpus", &PriceList::gpus,
                  "Prices by the GPU's name, as results give it (`cluster.gpu`).");
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
