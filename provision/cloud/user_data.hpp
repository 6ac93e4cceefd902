// What a machine is told for its first boot, as cloud-init reads it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.hpp"

namespace fastgpu::provision::cloud {

struct FirstBoot {
  std::string user = "root";
  std::vector<std::string> authorized_keys{};  ///< Who may log in.
  Secret host_private_key{};  ///< OpenSSH text; sshd shows this key from its first second.
  std::string host_public_key{};
  /// The machine shuts itself down so long after its first boot, unless somebody puts that off; for
  /// clouds that have no timer of their own.
  std::optional<std::chrono::seconds> shut_down_after{};
  int data_disk_gib = 0;  ///< Of the disk that it is to have at kDataPath; 0: none.
};

/// A "#cloud-config" document. It holds a private key: a secret.
Secret user_data(const FirstBoot& boot);

}  // namespace fastgpu::provision::cloud
