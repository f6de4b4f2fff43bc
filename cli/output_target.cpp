#include "cli/output_target.hpp"

#include <iostream>

#include "simcore/output/atomic_file.hpp"

namespace shardsim::cli {

std::expected<void, std::string> write_document(const std::string& target,
                                                const std::function<void(std::ostream&)>& write) {
  if (target == "-") {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) return std::unexpected(std::string("cannot write to standard output"));
    return {};
  }
  auto file = simcore::AtomicFile::create(target);
  if (!file) return std::unexpected(file.error());
  write(file->stream());
  return file->commit();
}

}  // namespace shardsim::cli
