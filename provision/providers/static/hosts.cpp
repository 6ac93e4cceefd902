#include "provision/providers/static/hosts.hpp"

namespace fastgpu::provision {
namespace {

namespace fs = std::filesystem;

constexpr std::uint16_t kSshPort = 22;

std::string identity_of(const std::string& written, const fs::path& file_directory,
                        const fs::path& home) {
  if (written.empty()) return {};
  if (written.starts_with("~/")) return (home / written.substr(2)).lexically_normal().string();
  return fs::absolute(file_directory / written).lexically_normal().string();
}

}  // namespace

std::vector<StaticHost> static_hosts(const ClusterFile& file, const fs::path& file_directory,
                                     const fs::path& home) {
  std::vector<StaticHost> hosts;
  for (const HostEntry& entry : file.hosts) {
    StaticHost host{.name = entry.name,
                    .address = entry.address,
                    .port = entry.port.value_or(kSshPort),
                    .user = entry.user,
                    .slots = entry.slots,
                    .identity = identity_of(entry.identity, file_directory, home),
                    .host_keys = entry.host_keys,
                    .inner = entry.inner,
                    .inner_port = entry.inner_port.value_or(kSshPort)};
    for (const JumpEntry& jump : entry.jumps)
      host.jumps.push_back({.address = jump.address,
                            .port = jump.port.value_or(kSshPort),
                            .user = jump.user,
                            .identity = identity_of(jump.identity, file_directory, home),
                            .host_keys = jump.host_keys});
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace fastgpu::provision
