// Writes the output of each host to files of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "remote/exec.hpp"

namespace fastgpu::cli {

/// Writes the stdout of host NAME to DIRECTORY/NAME and its stderr, if there is any, to
/// DIRECTORY/NAME.err, byte for byte. If a write fails, the program on that host is ended.
class FileSink final : public remote::OutputSink {
 public:
  /// Creates the directory if it is missing, and an empty file for each name. Throws conflict if
  /// one of the files exists: existing files are never overwritten.
  FileSink(std::filesystem::path directory, std::vector<std::string> names);
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override;

  std::filesystem::path file(std::size_t host, remote::OutputChannel channel) const;
  /// Returns true if the host has written to its stderr.
  bool has_errors(std::size_t host) const { return has_errors_[host]; }

 private:
  std::filesystem::path directory_;
  std::vector<std::string> names_;
  std::vector<bool> has_errors_;
};

}  // namespace fastgpu::cli
