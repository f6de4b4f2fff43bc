#include "quiz/evidence/quantity.hpp"

namespace shardsim::quiz {

const Quantity* find_fact(const RunFacts& facts, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto run = facts.find(name.substr(0, dot));
  if (run == facts.end()) return nullptr;
  const auto fact = run->second.find(name.substr(dot + 1));
  return fact == run->second.end() ? nullptr : &fact->second;
}

}  // namespace shardsim::quiz
