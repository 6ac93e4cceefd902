// uv on this node: run with a cache of ours, and with nothing that a user has set for their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

class Uv {
 public:
  Uv(const BuilderChoice& choice, std::filesystem::path cache);

  /// A variable of its environment, from now on.
  void set(const std::string& name, const std::string& value);

  /// Its output. Throws as output_of.
  std::string run(const std::vector<std::string>& words, const Listener& listener) const;
  /// "uv 0.13.9"
  std::string version(const Listener& listener) const;

  const std::filesystem::path& program() const noexcept { return program_; }
  const std::filesystem::path& cache() const noexcept { return cache_; }
  const std::vector<std::string>& environment() const noexcept { return environment_; }

 private:
  std::filesystem::path program_;
  std::filesystem::path cache_;
  std::vector<std::string> environment_;
};

/// A file for uv to read, gone with this object.
class TextFile {
 public:
  TextFile(std::filesystem::path path, const std::string& text);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Installs into the Python at that path the wheels of a pylock.toml and nothing else, each with
/// its sum.
void install_wheels(const Uv& uv, const std::string& pylock, const std::filesystem::path& python,
                    const Listener& listener);

}  // namespace fastgpu::agent
