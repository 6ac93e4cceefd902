#include "cli/commands/env/prefix_queue.hpp"

#include "base/contains.hpp"

namespace fastgpu::cli {

void PrefixQueue::add(const agent::EnvironmentStatus& status) {
  if (reported_ == Reported::ignored) return;
  for (const std::string& prefix : status.used_prefixes)
    if (prefix.starts_with('/') && !contains(prefixes_, prefix)) prefixes_.push_back(prefix);
}

std::optional<std::string> PrefixQueue::next() {
  if (at_ == prefixes_.size()) return std::nullopt;
  return prefixes_[at_++];
}

}  // namespace fastgpu::cli
