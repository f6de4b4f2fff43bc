// What a terminal can show.
#pragma once

namespace shardsim::cli {

/// False where the locale is C or POSIX, which cannot show block characters.
bool terminal_is_unicode();

}  // namespace shardsim::cli
