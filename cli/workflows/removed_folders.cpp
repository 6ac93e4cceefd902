#include "cli/workflows/removed_folders.hpp"

#include "cli/workflows/name_folding.hpp"
#include "launcher/job_store.hpp"
#include "launcher/node_refusal.hpp"

namespace fastgpu::cli {

std::vector<NodeName> nodes_without_folder(const OpenJob& open, const Error& e) {
  const auto* const refusal = dynamic_cast<const launcher::NodeRefusal*>(&e);
  const bool is_missing = refusal != nullptr && refusal->kind() == ErrorKind::not_found;
  return is_missing && launcher::has_ended(open.job) ? refusal->nodes() : std::vector<NodeName>();
}

std::string text_of_removed_folder(Services& services, const OpenJob& open,
                                   std::span<const NodeName> nodes) {
  std::vector<std::string> names;
  for (const NodeName& node : nodes)
    names.push_back(node.value);
  const auto now = [&](const char* setting) {
    return std::string(setting) + " (now " + services.settings().find(setting).text + ")";
  };
  return "job " + open.job.id + " has ended, and its folder was removed from " + fold_names(names) +
         ": the settings " + now("keep-jobs") + " and " + now("keep-jobs-for") +
         ", and --keep-jobs of a later job, limit how long it stays";
}

Error removed_or(Services& services, const OpenJob& open, const Error& e) {
  const auto nodes = nodes_without_folder(open, e);
  return nodes.empty() ? e : Error(e.kind(), text_of_removed_folder(services, open, nodes));
}

}  // namespace fastgpu::cli
