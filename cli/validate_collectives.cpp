#include "cli/validate_collectives.hpp"

#include <iostream>
#include <memory>
#include <utility>

#include "cli/progress_line.hpp"
#include "models/scenario/validation/collectives_validation.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

std::shared_ptr<const simcore::SourceText> read_source(const std::string& file,
                                                       simcore::Diagnostics& diagnostics) {
  auto text = simcore::read_text_file(file, scenario::max_csv_bytes);
  auto source = std::make_shared<simcore::SourceText>(simcore::SourceText{file, text.value_or("")});
  if (!text) diagnostics.error({source, 0, 0}, text.error());
  return source;
}

}  // namespace

std::optional<scenario::ValidationReport> collectives_report(const CollectiveFiles& files,
                                                             const scenario::DataFolders& data) {
  simcore::Diagnostics diagnostics;
  auto points = read_source(files.points, diagnostics);
  auto descriptions = read_source(files.tables, diagnostics);
  std::optional<scenario::CollectiveTables> tables;
  if (!diagnostics.has_errors()) {
    tables =
        scenario::CollectiveTables::read(std::move(points), std::move(descriptions), diagnostics);
  }
  auto rules = simcore::read_config_file<scenario::CollectiveRules>(files.rules, diagnostics);
  std::cerr << simcore::to_text(diagnostics, "shardsim validate");
  if (!tables || !rules || diagnostics.has_errors()) return std::nullopt;
  scenario::CollectivesValidation options;
  options.rules = std::move(*rules);
  options.data = data;
  options.sizes = files.sizes;
  ProgressLine progress("validating collectives");
  options.progress = [&progress](double share) { progress.update(share); };
  return scenario::validate_collectives(*tables, options);
}

}  // namespace shardsim::cli
