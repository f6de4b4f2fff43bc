// A configuration tree as JSON and back, for where YAML itself is not read: the simulator inside a
// web page gets its files in this form.
//
// A plain scalar is a JSON string, a quoted one ["q", text], a list ["s", items...], a map an
// object in the order of its keys, and a missing value null: so nothing that a reader looks at is
// lost but the places in the file, which all become the whole document.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "simcore/config/config_node.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::simcore {

/// `node` as JSON text without spaces. Invalid nodes become null.
std::string to_json_tree(const ConfigNode& node);

/// The tree that `source` holds. Text that is not such JSON, or deeper than YAML may be, is an
/// error.
std::optional<ConfigNode> read_json_tree(const std::shared_ptr<const SourceText>& source,
                                         Diagnostics& diagnostics);

}  // namespace shardsim::simcore
