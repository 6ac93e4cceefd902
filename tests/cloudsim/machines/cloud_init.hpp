// What an instance's first boot reads out of its user data, as cloud-init would.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::cloudsim {

struct CloudInit {
  std::string user = "root";
  std::vector<std::string> authorized_keys;
  std::string host_private_key, host_public_key;  ///< Ed25519; empty where it brings none.
  std::string boot_script;  ///< bootcmd, at each boot and first of all; without `shutdown`.
  std::string script;       ///< write_files and runcmd for /bin/sh, but for `shutdown`.
  std::optional<std::chrono::minutes> first_boot_lasts;  ///< `shutdown -P +N` among runcmd.
  std::optional<std::chrono::minutes> each_boot_lasts;   ///< The same among bootcmd.
};

/// Anything but a "#cloud-config" document says nothing. Throws ErrorKind::usage where it is one
/// and no YAML.
CloudInit read_cloud_init(const std::string& user_data);

}  // namespace fastgpu::cloudsim
