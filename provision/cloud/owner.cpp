#include "provision/cloud/owner.hpp"

#include "base/files.hpp"
#include "provision/ids.hpp"
#include "state/directory.hpp"

namespace fastgpu::provision::cloud {

std::optional<std::string> Owner::known() const {
  auto text = read_file(file_);
  if (text && text->empty()) return std::nullopt;
  return text;
}

std::string Owner::mark() const {
  if (auto there = known()) return *std::move(there);
  state::make_private_directory(file_.parent_path());
  std::string made = new_cluster_id().value;
  state::write_private_file(file_, made);
  return made;
}

}  // namespace fastgpu::provision::cloud
