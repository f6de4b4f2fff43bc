#include "cli/comparable_runs.hpp"

#include <filesystem>
#include <memory>
#include <system_error>

#include "simcore/text_file.hpp"

namespace shardsim::cli {

std::optional<scenario::ResidualTable> read_residuals(const DataSearch& search,
                                                      simcore::Diagnostics& diagnostics) {
  const auto folder = find_data_folder(search, "validation");
  if (!folder) return scenario::ResidualTable{};
  const std::filesystem::path file = *folder / "residuals.csv";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return scenario::ResidualTable{};
  const auto text = simcore::read_text_file(file, scenario::max_csv_bytes);
  const auto source =
      std::make_shared<simcore::SourceText>(simcore::SourceText{file.string(), text.value_or("")});
  if (!text) {
    diagnostics.error({source, 0, 0}, text.error());
    return std::nullopt;
  }
  return scenario::ResidualTable::read(source, diagnostics);
}

}  // namespace shardsim::cli
