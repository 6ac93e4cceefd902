// The output of many hosts, each in files of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "remote/exec.hpp"

namespace fastgpu::cli {

/// A sink that writes the output of host NAME into DIRECTORY/NAME, and its error output, if there
/// is any, into DIRECTORY/NAME.err, byte for byte. A failed write ends the program on that host.
class FileSink final : public remote::OutputSink {
 public:
  /// Makes the directory if it is missing, and an empty file for each name. Throws conflict if a
  /// file of the names exists: existing files are never overwritten.
  FileSink(std::filesystem::path directory, std::vector<std::string> names);
  void output(std::size_t host, remote::Channel channel, std::string_view text) override;

  std::filesystem::path file(std::size_t host, remote::Channel channel) const;
  /// Returns true once the host has written to its error output.
  bool has_errors(std::size_t host) const { return has_errors_[host]; }

 private:
  std::filesystem::path directory_;
  std::vector<std::string> names_;
  std::vector<bool> has_errors_;
};

}  // namespace fastgpu::cli
