// Reads from user data what cloud-init would do at an instance's first boot.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::cloudsim {

struct CloudInit {
  std::string user = "root";
  std::vector<std::string> authorized_keys;
  /// The Ed25519 host key; empty if the user data has none.
  std::string host_private_key, host_public_key;
  /// The commands of bootcmd, run first at each boot, without `shutdown`.
  std::string boot_script;
  std::string script;  ///< The commands of write_files and runcmd for /bin/sh, without `shutdown`.
  std::optional<std::chrono::minutes> first_boot_lasts;  ///< The N of `shutdown -P +N` in runcmd.
  std::optional<std::chrono::minutes> each_boot_lasts;   ///< The N of the same command in bootcmd.
};

/// Reads a "#cloud-config" document; any other user data has no effect. Throws ErrorKind::usage if
/// the document is not YAML.
CloudInit read_cloud_init(const std::string& user_data);

}  // namespace fastgpu::cloudsim
