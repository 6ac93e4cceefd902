#include "cli/commands/env/found_environments.hpp"

namespace fastgpu::cli {

void FoundEnvironments::add(const NodeName& node, const agent::EnvironmentStatus& status) {
  if (!reported_[status.prefix].insert(node.value).second) return;
  for (const agent::FoundVersion& version : status.versions) {
    FoundEnvironment& found = found_[{version.name, status.prefix}];
    if (!version.current || version.manifest.empty()) continue;
    found.nodes.push_back(node.value);
    found.builds.insert(version.version + version.manifest);
    found.version = version.version;
    if (status.active == version.name) ++found.active_on;
  }
}

std::size_t FoundEnvironments::reports_of(const std::string& prefix) const {
  const auto reported = reported_.find(prefix);
  return reported == reported_.end() ? 0 : reported->second.size();
}

std::string state_of(const FoundEnvironment& found, std::size_t nodes) {
  if (found.builds.size() > 1) return "differs";
  return found.nodes.size() == nodes ? "complete" : "partial";
}

}  // namespace fastgpu::cli
