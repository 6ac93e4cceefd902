#include "config/settings.hpp"

#include <array>
#include <cassert>

#include "base/error.hpp"

namespace fastgpu::config {
namespace {

constexpr std::array kSettings = {
    SettingInfo{"provider", "local", "where clusters are made"},
    SettingInfo{"nodes", "1", "nodes of a new cluster"},
    SettingInfo{"slots", "1", "ranks a node takes"},
    SettingInfo{"user", "root", "who we are on the nodes"},
    SettingInfo{"cluster", "", "the cluster that jobs run on"},
    SettingInfo{"output", "table", "how results are shown: table, wide, json, yaml, name"},
    SettingInfo{"color", "auto", "colours on the terminal: auto, always, never"},
    SettingInfo{"fanout", "256", "hosts worked on at once"},
    SettingInfo{"connect-timeout", "10s", "how long one host may take to answer"},
    SettingInfo{"patience", "10s", "how long to wait for another fastgpu on the same cluster"},
    SettingInfo{"keep-jobs", "50", "ended jobs whose folders stay on a node"},
    SettingInfo{"keep-jobs-for", "30d", "how long the folder of an ended job stays on a node"},
    SettingInfo{"yes", "false", "ask nothing"},
};

/// Of files alone: names of groups of nodes.
constexpr const char* kGroups = "groups";

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const SettingInfo& setting : kSettings)
    names.emplace_back(setting.key);
  names.emplace_back(kGroups);
  return names;
}

std::optional<Setting> from_document(const Document& document, const std::string& key,
                                     Origin origin) {
  const auto value = document.root().find(key);
  if (!value) return std::nullopt;
  return Setting{.text = value->text(), .origin = origin, .where = value->where()};
}

std::optional<Setting> from_environment(const Layers& layers, const std::string& key) {
  if (!layers.environment) return std::nullopt;
  const std::string name = variable_name(key);
  auto text = layers.environment(name);
  if (!text || text->empty()) return std::nullopt;
  return Setting{.text = *std::move(text), .origin = Origin::environment, .where = name};
}

Setting strongest(const Layers& layers, const SettingInfo& info) {
  const std::string key(info.key);
  if (const auto flag = layers.flags.find(key); flag != layers.flags.end())
    return {.text = flag->second, .origin = Origin::flag, .where = "--" + key};
  if (auto setting = from_environment(layers, key)) return *std::move(setting);
  if (auto setting = from_document(layers.project, key, Origin::project_file))
    return *std::move(setting);
  if (auto setting = from_document(layers.user, key, Origin::user_file)) return *std::move(setting);
  return {.text = std::string(info.fallback), .origin = Origin::built_in, .where = "default"};
}

}  // namespace

std::span<const SettingInfo> setting_table() {
  return kSettings;
}

std::string variable_name(std::string_view key) {
  std::string name = "FASTGPU_";
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    name += c == '-' ? '_' : is_lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

std::optional<std::filesystem::path> user_file(
    const std::function<std::optional<std::string>(const std::string& name)>& environment) {
  const auto config_home = environment("XDG_CONFIG_HOME");
  if (config_home && config_home->starts_with('/'))
    return std::filesystem::path(*config_home) / "fastgpu" / "config.yaml";
  const auto home = environment("HOME");
  if (home && home->starts_with('/'))
    return std::filesystem::path(*home) / ".config" / "fastgpu" / "config.yaml";
  return std::nullopt;
}

Document read_if_there(const std::filesystem::path& path) try {
  return Document::read(path);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::not_found) return {};
  throw;
}

Settings::Settings(const Layers& layers) {
  layers.project.root().allow_only(keys());
  layers.user.root().allow_only(keys());
  for (const SettingInfo& info : kSettings)
    settings_.emplace(std::string(info.key), strongest(layers, info));
  // The project's go before the user's: what is there already stays.
  for (const Document* document : {&layers.project, &layers.user})
    if (const auto groups = document->root().find(kGroups))
      for (const auto& [name, nodes] : groups->entries())
        groups_.emplace(name, nodes.text());
}

std::optional<std::string> Settings::group(std::string_view name) const {
  const auto found = groups_.find(name);
  if (found == groups_.end()) return std::nullopt;
  return found->second;
}

const Setting& Settings::find(std::string_view key) const {
  const auto found = settings_.find(key);
  assert(found != settings_.end());
  return found->second;
}

int Settings::integer(std::string_view key, int least, int most) const {
  return value(key).integer(least, most);
}

bool Settings::boolean(std::string_view key) const {
  const std::string& written = text(key);
  if (written == "1" || written == "0") return written == "1";
  return value(key).boolean();
}

std::chrono::milliseconds Settings::duration(std::string_view key) const {
  return value(key).duration();
}

Value Settings::value(std::string_view key) const {
  const Setting& setting = find(key);
  Tree tree{.kind = Tree::Kind::scalar,
            .place = {.source = std::make_shared<const std::string>(setting.where)},
            .text = setting.text};
  return {std::make_shared<const Tree>(std::move(tree)), std::string(key)};
}

}  // namespace fastgpu::config
