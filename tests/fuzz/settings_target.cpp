// The smaller YAML files: prices, mapping rules, GPUs, models of LLMs, questions, words.
#include "models/gpu/gpu_spec.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/scenario/validation/collective_mapping.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/training/model_spec.hpp"
#include "quiz/bank/question_spec.hpp"
#include "quiz/bank/words.hpp"
#include "simcore/config/fields.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

/// What was read without an error is printed and read again as the same.
template <class T>
std::optional<T> read(const simcore::ConfigNode& root) {
  simcore::Diagnostics diagnostics;
  T value = simcore::read_config<T>(root, diagnostics);
  check_messages(false, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  const std::string text = simcore::print_value(value);
  simcore::Diagnostics problems;
  const auto again = simcore::read_yaml(source_of(text), problems);
  require(again.has_value(), "printed settings are no YAML", problems);
  const T copy = simcore::read_config<T>(*again, problems);
  require(!problems.has_errors(), "printed settings cannot be read", problems);
  require(simcore::print_value(copy) == text, "printed settings read as others");
  return value;
}

}  // namespace

void read_settings(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto root = simcore::read_yaml(source_of(input), diagnostics);
  check_messages(!root, diagnostics);
  if (!root || diagnostics.has_errors()) return;
  if (const auto prices = read<scenario::PriceList>(*root)) {
    scenario::Result result;
    result.gpus = 8;
    result.step.time = simcore::SimTime::microseconds(1000);
    for (const auto& [gpu, price] : prices->gpus) {
      result.gpu = gpu;
      scenario::cost_of(result, *prices);
    }
  }
  if (const auto rules = read<scenario::MappingRules>(*root)) {
    const auto figure = rules->figure("reserved");
    require(figure || !figure.error().empty(), "a refusal without a reason");
  }
  read<scenario::CollectiveRules>(*root);
  read<gpu::GpuSpec>(*root);
  if (const auto model = read<training::ModelSpec>(*root)) training::resolve(*model, 4096);
  read<quiz::BankSpec>(*root);
  read<quiz::Words>(*root);
}

}  // namespace shardsim::fuzz
