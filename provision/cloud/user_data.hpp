// The instructions to a machine for its first boot, in cloud-init's form.
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
  std::vector<std::string> authorized_keys{};  ///< Keys that may log in.
  Secret host_private_key{};  ///< OpenSSH text; sshd shows this key from its first second.
  std::string host_public_key{};
  /// The time from the first boot until the machine shuts itself down, unless the shutdown is
  /// postponed. Used for clouds without a timer of their own.
  std::optional<std::chrono::seconds> shut_down_after{};
  int data_disk_gib = 0;  ///< The size of its disk at kDataPath; 0: none.
};

/// Returns a "#cloud-config" document. It has a private key in it: a secret.
Secret user_data(const FirstBoot& boot);

/// Throws ErrorKind::usage if the user data of a machine could be longer than `limit` bytes, the
/// most that `cloud` takes. Counts `ssh_keys`, and the longest possible keys for `key_pairs` of the
/// cloud's own key pairs, for the cluster and for the machine.
void check_first_boot(std::span<const std::string> ssh_keys, std::size_t key_pairs,
                      int data_disk_gib, std::size_t limit, std::string_view cloud);

}  // namespace fastgpu::provision::cloud
