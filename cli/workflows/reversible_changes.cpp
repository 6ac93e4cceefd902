#include "cli/workflows/reversible_changes.hpp"

#include <ranges>

#include "base/error.hpp"

namespace fastgpu::cli {

std::string ReversibleChanges::undo() noexcept {
  if (changes_.empty()) return "";
  std::string left;
  for (const Change& change : std::views::reverse(changes_)) {
    try {
      change.undo();
    } catch (const std::exception& e) {
      left += "; it could not undo " + change.what + " (" + e.what() + ")";
    }
  }
  changes_.clear();
  return left.empty() ? "; what it had changed is undone" : left;
}

}  // namespace fastgpu::cli
