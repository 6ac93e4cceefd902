// The local provider's configuration for this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fastgpu::provision::local {

struct LocalConfig {
  /// The parent of the node directories, such as <state>/local.
  std::filesystem::path root;
  std::filesystem::path init_program;           ///< fastgpu-node-init.
  std::vector<std::filesystem::path> hidden{};  ///< Folders that no node may see; root is one.
  /// Homes whose .ssh is empty on the nodes, in addition to those of root and of the calling user.
  std::vector<std::filesystem::path> private_homes{};
  /// The program that serves the nodes' file systems in place of the kernel's overlay, which only
  /// root may mount over "/"; empty for the kernel's.
  std::string fuse_overlayfs{};
  std::vector<std::filesystem::path> sshd_programs{"/usr/sbin/sshd", "/usr/local/sbin/sshd",
                                                   "/usr/bin/sshd"};
};

}  // namespace fastgpu::provision::local
