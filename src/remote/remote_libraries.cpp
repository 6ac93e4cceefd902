#include "remote/remote_libraries.hpp"

#include "ssh/ssh_libraries.hpp"
#include "transfer/transfer_libraries.hpp"

namespace fastgpu::remote {

std::map<std::string, std::string> library_versions() {
  std::map<std::string, std::string> versions = ssh::library_versions();
  versions.merge(transfer::library_versions());
  return versions;
}

}  // namespace fastgpu::remote
