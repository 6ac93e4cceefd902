// Settings that may come from the environment, the project's file or the user's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "config/document.hpp"

namespace fastgpu::config {

/// Strongest first. Flags are stronger than all of them, and are the caller's.
enum class Origin : std::uint8_t { environment, project_file, user_file, built_in };

/// The type of a setting's value.
enum class SettingType : std::uint8_t {
  text,
  integer,
  duration,
  boolean,
  choice,    ///< One of `choices`.
  provider,  ///< One of Layers::providers.
};

/// Which files may set it.
enum class SettingFiles : std::uint8_t {
  any,
  /// The user's own alone: it decides what is paid for, what is deleted without a question, or who
  /// logs in, and a project's file comes with whatever was checked out.
  user,
};

struct SettingInfo {
  std::string_view key;  ///< "connect-timeout": the flag's name and the field's.
  std::string_view fallback;
  SettingType type;
  SettingFiles files;
  std::string_view description;
  std::span<const std::string_view> choices{};
  int least = 1;  ///< The limits of an integer.
  int most = 1;
};

/// Every setting there is.
std::span<const SettingInfo> setting_table();

/// Returns the name that the setting `key` had in an earlier version; absent if it had no other.
std::optional<std::string_view> former_setting(std::string_view key);

struct Setting {
  std::string text;
  Origin origin = Origin::built_in;
  std::string where;  ///< "FASTGPU_FANOUT", "fastgpu.yaml:3:9", "default"
};

/// Looks an environment variable up; absent where it is not set.
using LookUp = std::function<std::optional<std::string>(const std::string& name)>;

/// The sources of settings, besides the built-in ones.
struct Layers {
  LookUp environment{};
  Document project{};
  std::optional<Error> project_fault{};  ///< Why the project's file could not be read.
  Document user{};
  std::vector<std::string> providers{};
  std::vector<std::string> warnings{};  ///< Which files are not used, and why.
};

/// "FASTGPU_CONNECT_TIMEOUT"
std::string variable_name(std::string_view key);

/// Returns $FASTGPU_CONFIG, $XDG_CONFIG_HOME/fastgpu/config.yaml or ~/.config/fastgpu/config.yaml;
/// absent without a home.
std::optional<std::filesystem::path> user_file(const LookUp& environment);

/// Reads the file `project` and the user's own, where they are there and can be trusted. Throws
/// ErrorKind::usage if the user's own is not YAML, not_found or denied if FASTGPU_CONFIG names
/// one that cannot be used.
Layers read_layers(const std::filesystem::path& project, const LookUp& environment,
                   std::vector<std::string> providers);

/// All values are checked when they are taken in, and the place where a wrong one was written is
/// named.
class Settings {
 public:
  /// Throws ErrorKind::usage for what cannot be read in a variable or in the user's file, a field
  /// of an unknown name included. An error of the project's file is kept for callers of the things
  /// that such a file decides: project_fault(), group() and the setting "cluster" throw it. Empty
  /// environment variables count as unset.
  explicit Settings(const Layers& layers);

  const Setting& find(std::string_view key) const;  ///< `key` must be in the table.
  const std::string& text(std::string_view key) const { return find(key).text; }
  int integer(std::string_view key, int least, int most) const;
  bool boolean(std::string_view key) const;
  std::chrono::milliseconds duration(std::string_view key) const;

  /// Returns the node set of a group's name; absent if no file has that group. The
  /// user's own groups go before the project's.
  std::optional<std::string> group(std::string_view name) const;
  /// Returns the names of the files' groups, those that every cluster has left out.
  std::vector<std::string> group_names() const;

  /// Returns what the user should know about the files: fields that a project's file may not set,
  /// and why such a file is not used.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  void take_user(const Document& user, const Layers& layers);
  void take_project(const Document& project, const Layers& layers);
  void take_environment(const Layers& layers);
  void check_project() const;
  Value value(std::string_view key) const;

  std::map<std::string, std::string, std::less<>> groups_;
  std::map<std::string, Setting, std::less<>> settings_;
  std::optional<Error> project_fault_;
  std::vector<std::string> warnings_;
};

}  // namespace fastgpu::config
