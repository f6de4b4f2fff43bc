// Where a document goes: a file, written whole or not at all, or `-` for standard output.
#pragma once

#include <expected>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace shardsim::cli {

/// A file that a command reads or writes, and what it is called in a message: "--json".
struct NamedTarget {
  std::string name;
  std::string target;
};

/// Two documents in one file, or on standard output, would make neither readable, and what a
/// command reads is not for overwriting. Files are the same under whatever name. The error is a
/// message for the user; targets that are empty take no part, inputs may be equal.
std::expected<void, std::string> check_targets(const std::vector<NamedTarget>& inputs,
                                               const std::vector<NamedTarget>& outputs);

/// What to say where a command ends without some of its outputs, so that no older file is taken for
/// one of them: a line that names them. Empty if none was asked for.
std::string not_written(const std::vector<NamedTarget>& outputs);

/// To be called where standard output cannot be written, before that is told. If it is a pipe whose
/// reader has gone (`... | head`) nothing is told, now or later: nobody misses what it did not
/// read.
void fall_silent_without_reader();

/// Calls `write` with the stream of `target`. The error is a message for the user.
std::expected<void, std::string> write_document(const std::string& target,
                                                const std::function<void(std::ostream&)>& write);

}  // namespace shardsim::cli
