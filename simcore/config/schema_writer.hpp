// JSON Schema (draft 2020-12) of a declaration, for editors: a YAML file that begins with
// `# yaml-language-server: $schema=scenario.schema.json` gets completion and checks.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "simcore/config/type_schema.hpp"

namespace shardsim::simcore {

struct SchemaTitle {
  std::string id;  ///< "$id", a URL or file name; may be empty
  std::string title;
  std::string description;
};

/// `type` is that of the whole document, schema_of<ScenarioSpec>() say. Bounds on quantities,
/// which JSON Schema cannot check, are told in the descriptions.
nlohmann::ordered_json write_json_schema(const TypeSchema& type, const SchemaTitle& title);

}  // namespace shardsim::simcore
