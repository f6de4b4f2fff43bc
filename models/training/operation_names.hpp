// What the operations are called that a strategy issues, by the word for what they do
// ("all_gather_copy_in") and what they do it for.
//
// In a model they bear the module's name, as its kernels do: "layers.3.all_gather", and the root's
// "root.all_gather". Where times are prescribed there are no modules, and the names are the short
// ones in which schedules of four blocks are drawn: "AG3". Buckets are numbered within a backward.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardsim::training {

/// "R" for the root, "E" and "H" for its parts, else the block's number.
std::string unit_name(int unit);

/// `operation` of a unit without modules: "AG3" for all_gather, "CIR" for all_gather_copy_in of the
/// root. Words that have no abbreviation stay whole: "cast3".
std::string short_operation(std::string_view operation, int unit);
/// `operation` of the bucket of that number: "bucket0.reduce_scatter".
std::string bucket_operation(std::string_view operation, std::size_t bucket);

}  // namespace shardsim::training
