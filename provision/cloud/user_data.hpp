// What a machine is told for its first boot, as cloud-init reads it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Throws ErrorKind::usage where the first boot of machines that these keys and so many of the
/// cloud's key pairs open is more than the `limit` bytes that `cloud` takes, whatever keys they get
/// of their cluster's.
void check_first_boot(std::span<const std::string> ssh_keys, std::size_t key_pairs,
                      int data_disk_gib, std::size_t limit, std::string_view cloud);

}  // namespace fastgpu::provision::cloud
