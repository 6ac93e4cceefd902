#include "provision/storage.hpp"

#include "base/error.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::size_t kMostMounts = 16;

bool is_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

void check_storage(const Storage& storage) {
  if (storage.mounts.size() > kMostMounts)
    throw Error(ErrorKind::usage, std::to_string(storage.mounts.size()) +
                                      " mounts are too many: a node has at most " +
                                      std::to_string(kMostMounts));
  std::vector<Mount> all = storage.mounts;
  if (storage.has_data_disk) all.push_back({"the data disk", std::string(kDataPath)});
  for (const Mount& one : all)
    for (const Mount& other : all)
      if (&one != &other && is_in(one.path, other.path))
        throw Error(ErrorKind::usage, one.source + " cannot be at " + one.path + ": " +
                                          other.source + " is at " + other.path);
}

std::string fstab_line(const Mount& mount, std::string_view nfs_options) {
  return mount.source + " " + mount.path + " nfs " + std::string(nfs_options) +
         ",_netdev,nofail,x-fastgpu 0 0";
}

}  // namespace fastgpu::provision
