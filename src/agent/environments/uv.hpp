// uv on this node: run with our cache, and without the user's own settings.
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

  /// Sets a variable of its environment, from now on.
  void set(const std::string& name, const std::string& value);

  /// Sets the indexes for solving. Passwords are in its environment alone.
  void use_indexes(const SolveRequest& request);
  /// Sets the logins for the files of a lock, whose indexes are not queried.
  void use_logins();
  /// Removes the settings of use_indexes and use_logins, and the proxy: code of packages will run.
  void forget_logins();

  /// Returns its output. Throws as output_of; passwords that it knows are hidden in the error.
  std::string run(const std::vector<std::string>& words, const Listener& listener) const;
  /// Returns "uv 0.13.9".
  std::string version(const Listener& listener) const;

  const std::filesystem::path& program() const noexcept { return program_; }
  const std::filesystem::path& cache() const noexcept { return cache_; }
  const std::vector<std::string>& environment() const noexcept { return environment_; }

 private:
  std::string with_login(const std::string& address) const;

  std::filesystem::path program_;
  std::filesystem::path cache_;
  std::vector<Secret> logins_;
  Secret proxy_;
  std::vector<std::string> environment_;
};

/// Returns the name that use_indexes gives to the index at that place in SolveRequest::index_for.
std::string index_name(std::size_t place);

/// A new directory, removed with this object.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::filesystem::path path);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file for uv to read, removed with this object.
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

enum class Installed : std::uint8_t { kept, replaced };

/// Installs exactly the wheels of a pylock.toml into the Python at that path, each checked by its
/// SHA-256. An existing package stays, or is installed again.
void install_wheels(const Uv& uv, const std::string& pylock, const std::filesystem::path& python,
                    const Listener& listener, Installed installed = Installed::kept);

}  // namespace fastgpu::agent
