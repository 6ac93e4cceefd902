// Settings that may come from a flag, the environment, the project's file or the user's file.
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

#include "config/document.hpp"

namespace fastgpu::config {

/// Strongest first.
enum class Origin : std::uint8_t { flag, environment, project_file, user_file, built_in };

struct SettingInfo {
  std::string_view key;  ///< "connect-timeout": the flag's name and the field's.
  std::string_view fallback;
  std::string_view description;
};

/// Every setting there is.
std::span<const SettingInfo> setting_table();

struct Setting {
  std::string text;
  Origin origin = Origin::built_in;
  std::string where;  ///< "--fanout", "FASTGPU_FANOUT", "fastgpu.yaml:3:9", "default"
};

/// Where settings come from, besides what is built in.
struct Layers {
  std::map<std::string, std::string> flags{};  ///< By key; only those given.
  std::function<std::optional<std::string>(const std::string& name)> environment{};
  Document project{};
  Document user{};
};

/// "FASTGPU_CONNECT_TIMEOUT"
std::string variable_name(std::string_view key);

/// $XDG_CONFIG_HOME/fastgpu/config.yaml or ~/.config/fastgpu/config.yaml; absent without a home.
std::optional<std::filesystem::path> user_file(
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

/// The document in `path`; empty where there is no such file.
Document read_if_there(const std::filesystem::path& path);

/// Values that cannot be read throw ErrorKind::usage and say where they come from.
class Settings {
 public:
  /// Throws for a field in a file that is no setting. Empty environment variables count as unset.
  explicit Settings(const Layers& layers);

  const Setting& find(std::string_view key) const;  ///< `key` must stand in the table.
  const std::string& text(std::string_view key) const { return find(key).text; }
  int integer(std::string_view key, int least, int most) const;
  bool boolean(std::string_view key) const;
  std::chrono::milliseconds duration(std::string_view key) const;

  /// The node set that a group's name stands for; absent where no file has that group.
  std::optional<std::string> group(std::string_view name) const;

 private:
  Value value(std::string_view key) const;

  std::map<std::string, std::string, std::less<>> groups_;
  std::map<std::string, Setting, std::less<>> settings_;
};

}  // namespace fastgpu::config
