// What the build embeds. Internal to report/page.cpp; the texts are in a file that web/build.mjs
// writes, or, in a build without Node.js, in one in which all are empty.
#pragma once

#include <string_view>

namespace shardsim::report {

std::string_view run_report_text();
std::string_view sweep_report_text();
std::string_view quiz_text();

}  // namespace shardsim::report
