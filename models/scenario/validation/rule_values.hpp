// What rules set, held to what the scenario's keys declare: their names, types and ranges.
//
// A value is read alone, as `--set` would read it, so that a rule is wrong at its own line and
// whether or not a run of the table meets it. What keys mean together is checked with the run.
#pragma once

#include <string>
#include <string_view>

#include "simcore/config/config_node.hpp"
#include "simcore/config/type_schema.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// Reports at `where_key` a dotted `key` that a document of type `document` does not have, and at
/// `where_value` a `value` that the key does not take. Keys with quotes or indices are not looked
/// at, nor are values of keys that take lists, maps or one of several types.
void check_set_value(const simcore::TypeSchema& document, std::string_view key,
                     const std::string& value, const simcore::SourceLocation& where_key,
                     const simcore::SourceLocation& where_value, simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario
