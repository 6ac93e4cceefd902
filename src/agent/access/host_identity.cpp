#include "agent/access/host_identity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/disk.hpp"
#include "base/files.hpp"

namespace fastgpu::agent {
namespace {

/// Returns "DEVICE:INODE" of a file; empty if it cannot be examined.
std::string file_identity(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

}  // namespace

std::string host_identity() {
  const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
  const std::string network = file_identity("/proc/self/ns/net");
  const std::string directory = file_identity(below_home(".fastgpu"));
  if (boot.empty() || network.empty() || directory.empty()) return {};
  return boot + " " + network + " " + directory + " " + std::to_string(::geteuid());
}

}  // namespace fastgpu::agent
