// Runs uv on this node, with our cache and without the user's own settings.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/environment_call.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

class Uv {
 public:
  Uv(const BuilderChoice& choice, std::filesystem::path cache);

  /// Sets a variable in uv's environment from now on.
  void set(const std::string& name, const std::string& value);

  /// Sets the indexes for solving. Passwords are only in uv's environment.
  void use_indexes(const SolveRequest& request);
  /// Sets the logins for downloading the files of a lock, whose indexes are not queried.
  void use_logins();
  /// Removes the settings of use_indexes() and use_logins(), and the proxy. Call it before code of
  /// packages runs.
  void forget_logins();

  /// Runs uv and returns its output. Throws as output_of(). Known passwords are hidden in the
  /// error.
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

/// Returns the name that use_indexes() gives to the index at this position in
/// SolveRequest::index_for.
std::string index_name(std::size_t place);

/// A new directory. The destructor removes it.
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

/// A file for uv to read. The destructor removes it.
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

enum class ExistingPackages : std::uint8_t { kept, replaced };

/// Installs exactly the wheels of a pylock.toml into the Python at this path, each checked by its
/// SHA-256. With Installed::replaced, existing packages are installed again.
void install_wheels(const Uv& uv, const std::string& pylock, const std::filesystem::path& python,
                    const Listener& listener, ExistingPackages installed = ExistingPackages::kept);

}  // namespace fastgpu::agent
