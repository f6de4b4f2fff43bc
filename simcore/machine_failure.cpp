#include "simcore/machine_failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace shardsim::simcore {

bool tells_of_machine(std::string_view message) {
  constexpr std::array reasons{EMFILE, ENFILE, ENOMEM,    EIO,    EAGAIN,
                               EINTR,  ESTALE, ETIMEDOUT, ENOBUFS};
  if (message.ends_with("cannot be read")) return true;  // it was open, and a read failed
  return std::ranges::any_of(reasons, [&](int reason) {
    return message.contains("cannot be opened: " + std::generic_category().message(reason));
  });
}

}  // namespace shardsim::simcore
