// What programs run on this node and who is asked: machine, C library, interpreters, uv.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

std::string machine_name();  ///< "x86_64"
std::string libc_name();     ///< "glibc 2.36"; empty where it cannot be told.

/// uv with our own cache and without anybody's configuration.
class Uv {
 public:
  /// `index` is uv's default one where it is empty.
  Uv(std::filesystem::path program, const std::filesystem::path& cache, const std::string& index,
     const std::vector<std::string>& more_indexes);

  /// Its standard output. Throws capacity for a full disk, interrupted where the listener has gone,
  /// else remote with what it said.
  std::string run(const std::vector<std::string>& words, const Listener& listener) const;

  /// The system's interpreter for "3.11", or the one at a path. Throws not_found.
  std::string find_python(const std::string& wanted, const Listener& listener) const;
  std::string version(const Listener& listener) const;  ///< "uv 0.13.9"

 private:
  std::filesystem::path program_;
  std::vector<std::string> environment_;
};

/// "3.11.2". Throws remote where it is no Python.
std::string python_version(const std::string& interpreter);

/// The output of a program that must succeed; its error output is in what is thrown.
std::string output_of(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, const Listener& listener);

}  // namespace fastgpu::agent
