#include "launcher/ends_needed.hpp"

#include <algorithm>

#include "base/join.hpp"

namespace fastgpu::launcher {

EndsNeeded ends_needed(
    const std::vector<std::string>& holders,
    const std::function<bool(std::span<const std::string> ended)>& fits_without) {
  if (holders.size() < 2) return EndsNeeded::all;
  const auto is_enough = [&](const std::string& id) { return fits_without(std::span(&id, 1)); };
  if (std::ranges::all_of(holders, is_enough)) return EndsNeeded::one;
  const auto is_needed = [&](const std::string& id) {
    std::vector<std::string> others = holders;
    std::erase(others, id);
    return !fits_without(others);
  };
  return std::ranges::all_of(holders, is_needed) ? EndsNeeded::all : EndsNeeded::some;
}

std::string words_for(const std::vector<std::string>& holders, EndsNeeded ends) {
  const bool is_list = ends == EndsNeeded::all || holders.size() < 2;
  const std::string amount = is_list ? "" : ends == EndsNeeded::one ? "one of " : "some of ";
  return amount + joined(holders);
}

}  // namespace fastgpu::launcher
