#include "agent/jobs/slurm_tasks.hpp"

#include <cstddef>

#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

constexpr int kMostTasks = 100'000;  ///< Of nodes, and of tasks on one of them.

/// Adds the nodes of "2(x3)" or "2". Returns false for any other text.
bool add_nodes(std::string_view text, std::vector<int>& tasks) {
  int nodes = 1;
  if (const auto open = text.find("(x"); open != text.npos) {
    if (!text.ends_with(')')) return false;
    const std::string_view times = text.substr(open + 2, text.size() - open - 3);
    nodes = to_number<int>(times).value_or(0);
    text = text.substr(0, open);
  }
  const int here = to_number<int>(text).value_or(0);
  const auto most = static_cast<std::size_t>(kMostTasks);
  if (nodes < 1 || here < 1 || here > kMostTasks || nodes > kMostTasks) return false;
  if (tasks.size() + static_cast<std::size_t>(nodes) > most) return false;
  tasks.insert(tasks.end(), static_cast<std::size_t>(nodes), here);
  return true;
}

}  // namespace

std::vector<int> parse_slurm_tasks(std::string_view text) {
  std::vector<int> tasks;
  for (;;) {
    const auto comma = text.find(',');
    if (!add_nodes(text.substr(0, comma), tasks)) return {};
    if (comma == text.npos) return tasks;
    text = text.substr(comma + 1);
  }
}

}  // namespace fastgpu::agent
