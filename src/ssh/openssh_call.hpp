// The arguments of a call of OpenSSH's client, and its files, which are only in memory.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// A file in memory, without a name on any disk. Other programs of this user can open it by its
/// path while the object lives.
class MemoryFile {
 public:
  /// Throws ErrorKind::local if the kernel refuses it.
  explicit MemoryFile(const std::string& text);

  std::filesystem::path path() const;
  std::string text() const;

 private:
  UniqueFd fd_;
};

/// The arguments of a call. Must live until the client has ended.
class OpenSshCall {
 public:
  /// Throws denied if no key of the host is known.
  OpenSshCall(const Host& host, std::chrono::milliseconds connect_timeout);

  /// Returns "ssh -F FILE OPTIONS -- NAME".
  std::vector<std::string> argv(const std::vector<std::string>& options) const;

 private:
  std::string name_;
  MemoryFile known_hosts_;
  MemoryFile config_;
};

}  // namespace fastgpu::ssh
