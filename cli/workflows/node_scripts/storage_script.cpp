#include "cli/workflows/node_scripts/storage_script.hpp"

#include "cli/workflows/node_scripts/node_script.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kAttach =
#include "templates/nodes/attach_storage.inc"
    ;

}  // namespace

std::string storage_command(const state::Node& node, const provision::Storage& storage) {
  std::vector<std::string> words = {storage.has_data_disk ? std::string(provision::kDataPath)
                                                          : std::string()};
  for (const provision::Mount& mount : storage.mounts)
    words.push_back(provision::fstab_line(mount, storage.nfs_options));
  return script_command(node, kAttach, words);
}

HostResult<provision::Reached> storage_attached(const launcher::NodeAnswer& answer) {
  return reached_by(answer, "set up its storage");
}

}  // namespace fastgpu::cli
