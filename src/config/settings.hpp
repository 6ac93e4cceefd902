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

/// The origins of settings, the strongest first. Flags are stronger than all of them, but are
/// handled by the caller.
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

/// The files that may set a setting.
enum class SettingFiles : std::uint8_t {
  any,
  /// Only the user's own file: the setting decides what is paid for, what is deleted without a
  /// question, or who logs in, while a project's file comes with whatever was checked out.
  user,
};

/// The maximum of the setting keep-jobs.
inline constexpr int kMostKeptJobs = 1'000'000;

struct SettingInfo {
  std::string_view key;  ///< "connect-timeout": the flag's name and the field's.
  std::string_view fallback;
  SettingType type;
  SettingFiles files;
  std::string_view description;
  std::span<const std::string_view> choices{};
  int least = 1;  ///< The limits of an integer, with `most`.
  int most = 1;
};

/// Returns all settings.
std::span<const SettingInfo> setting_table();

/// Returns the name that the setting `key` had in an earlier version; absent if it had no other.
std::optional<std::string_view> former_setting(std::string_view key);

struct Setting {
  std::string text;
  Origin origin = Origin::built_in;
  std::string where;  ///< "FASTGPU_FANOUT", "fastgpu.yaml:3:9", "default"
};

/// Returns an environment variable; absent if it is not set.
using LookUp = std::function<std::optional<std::string>(const std::string& name)>;

/// The sources of settings other than the built-in values.
struct Layers {
  LookUp environment{};
  Document project{};
  std::optional<Error> project_fault{};  ///< The reason if the project's file could not be read.
  Document user{};
  std::vector<std::string> providers{};
  std::vector<std::string> warnings{};  ///< The files that are not used, with the reasons.
};

/// Returns the setting's environment variable: "FASTGPU_CONNECT_TIMEOUT".
std::string variable_name(std::string_view key);

/// Returns $FASTGPU_CONFIG, $XDG_CONFIG_HOME/fastgpu/config.yaml or ~/.config/fastgpu/config.yaml;
/// absent without a home.
std::optional<std::filesystem::path> user_file(const LookUp& environment);

/// Reads the project's file at `project` and the user's own file if they exist and can be trusted.
/// Throws ErrorKind::usage if the user's own file is not YAML, and not_found or denied if
/// FASTGPU_CONFIG names an unusable one.
Layers read_layers(const std::filesystem::path& project, const LookUp& environment,
                   std::vector<std::string> providers);

/// The values of all settings. Each is checked when it is read; errors name the place of a wrong
/// value.
class Settings {
 public:
  /// Throws ErrorKind::usage for invalid values and unknown fields in variables and in the user's
  /// file. An error of the project's file is kept for the calls whose result such a file decides:
  /// group() and the setting "cluster". Empty environment variables count as unset.
  explicit Settings(const Layers& layers);

  const Setting& find(std::string_view key) const;  ///< `key` must be in the table.
  const std::string& text(std::string_view key) const { return find(key).text; }
  int integer(std::string_view key, int least, int most) const;
  bool boolean(std::string_view key) const;
  std::chrono::milliseconds duration(std::string_view key) const;

  /// Returns the node set of a group; absent if no file has that group. The user's own groups win
  /// over the project's.
  std::optional<std::string> group(std::string_view name) const;
  /// Returns the names of the groups in the files, without the groups that every cluster has.
  std::vector<std::string> group_names() const;

  /// Returns warnings for the user: fields that a project's file may not set, and reasons for not
  /// using such a file.
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
