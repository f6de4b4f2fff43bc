// The files of the page: configuration trees as JSON by their paths, in place of a disk.
//
// Takes the place of simcore/text_file.cpp. The page is one thread and one simulator, so there is
// one set of files.
#pragma once

#include <string>
#include <string_view>

namespace shardsim::web {

/// Adds the files of `bundle`, a JSON object {path: tree}; a path that is there already gets the
/// new tree. False if `bundle` is no such object.
bool add_bundle(std::string_view bundle);

}  // namespace shardsim::web
