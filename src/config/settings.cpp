#include "config/settings.hpp"

#include <array>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/names.hpp"
#include "config/trusted_file.hpp"

namespace fastgpu::config {
namespace {

constexpr std::array<std::string_view, 5> kFormats = {"table", "wide", "json", "yaml", "name"};
constexpr std::array<std::string_view, 3> kColors = {"auto", "always", "never"};
constexpr int kMostNodes = 10'000;
constexpr int kMostSlots = 1'024;
constexpr int kMostFanout = 1'024;

constexpr std::array kSettings = {
    SettingInfo{"provider", "local", SettingType::provider, SettingFiles::user,
                "where clusters are made"},
    SettingInfo{.key = "nodes",
                .fallback = "1",
                .type = SettingType::integer,
                .files = SettingFiles::user,
                .description = "nodes of a new cluster",
                .most = kMostNodes},
    SettingInfo{.key = "slots",
                .fallback = "1",
                .type = SettingType::integer,
                .files = SettingFiles::any,
                .description = "ranks a node takes",
                .most = kMostSlots},
    SettingInfo{"user", "root", SettingType::text, SettingFiles::user,
                "the user name on the nodes"},
    SettingInfo{"cluster", "", SettingType::text, SettingFiles::any,
                "the cluster that jobs run on"},
    SettingInfo{"output", "table", SettingType::choice, SettingFiles::any, "how results are shown",
                kFormats},
    SettingInfo{"color", "auto", SettingType::choice, SettingFiles::any, "colours on the terminal",
                kColors},
    SettingInfo{.key = "fanout",
                .fallback = "256",
                .type = SettingType::integer,
                .files = SettingFiles::any,
                .description = "hosts worked on at once",
                .most = kMostFanout},
    SettingInfo{"connect-timeout", "10s", SettingType::duration, SettingFiles::any,
                "how long one host may take to let us in"},
    SettingInfo{"answer-timeout", "60s", SettingType::duration, SettingFiles::any,
                "how long one host may then be silent where it has something to say"},
    SettingInfo{"wait", "10s", SettingType::duration, SettingFiles::any,
                "how long to wait for another fastgpu on the same cluster"},
    SettingInfo{"exchange-rate", "", SettingType::text, SettingFiles::user,
                "what currencies are worth in US dollars: CNY=0.14, EUR=1.1"},
    SettingInfo{.key = "keep-jobs",
                .fallback = "50",
                .type = SettingType::integer,
                .files = SettingFiles::user,
                .description = "ended jobs whose folders stay on a node",
                .least = 0,
                .most = kMostKeptJobs},
    SettingInfo{"keep-jobs-for", "30d", SettingType::duration, SettingFiles::user,
                "how long the folder of an ended job stays on a node"},
    SettingInfo{"network-check", "true", SettingType::boolean, SettingFiles::user,
                "ask while a job starts whether its nodes reach each other"},
    SettingInfo{"yes", "false", SettingType::boolean, SettingFiles::user, "ask nothing"},
};

/// Settings with other names in earlier versions.
constexpr std::array kRenamed = {std::pair<std::string_view, std::string_view>{"patience", "wait"}};

/// The field for groups of nodes, which only files can have.
constexpr const char* kGroups = "groups";

/// The groups that every cluster has.
constexpr std::array<std::string_view, 5> kBuiltInGroups = {"head", "workers", "running", "stopped",
                                                            "lost"};

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const SettingInfo& setting : kSettings)
    names.emplace_back(setting.key);
  names.emplace_back(kGroups);
  return names;
}

/// Throws for a field that no file may have; a renamed one is reported with its present name.
void check_fields(const Document& document) {
  for (const auto& [former, present] : kRenamed)
    if (const auto value = document.root().find(former))
      throw value->error("the setting is called '" + std::string(present) + "' now");
  document.root().allow_only(keys());
}

/// Throws if `value` is not allowed for the setting.
void check(const SettingInfo& info, const Value& value, const Layers& layers) {
  switch (info.type) {
    using enum SettingType;
    case text:
      if (value.text().empty()) throw value.error("the value is empty");
      return;
    case integer:
      value.integer(info.least, info.most);
      return;
    case duration:
      value.duration();
      return;
    case boolean:
      value.boolean();
      return;
    case choice:
      value.choice(std::vector<std::string>(info.choices.begin(), info.choices.end()));
      return;
    case provider:
      if (!layers.providers.empty()) value.choice(layers.providers);
      return;
  }
}

Setting checked(const SettingInfo& info, const Value& value, const Layers& layers, Origin origin) {
  check(info, value, layers);
  return {.text = value.text(), .origin = origin, .where = value.where()};
}

Value value_of(const Setting& setting, std::string_view key) {
  Tree tree{.kind = Tree::Kind::scalar,
            .place = {.source = std::make_shared<const std::string>(setting.where)},
            .text = setting.text};
  return {std::make_shared<const Tree>(std::move(tree)), std::string(key)};
}

/// Returns the groups in a file. Throws if one has the name of a built-in group.
std::map<std::string, std::string, std::less<>> groups_in(const Document& document) {
  std::map<std::string, std::string, std::less<>> groups;
  const auto found = document.root().find(kGroups);
  if (!found) return groups;
  for (const auto& [name, nodes] : found->entries()) {
    if (contains(kBuiltInGroups, name))
      throw nodes.error("every cluster has a group '" + printable(name) + "': take another name");
    groups.emplace(name, nodes.text());
  }
  return groups;
}

/// Reads the user's file. If FASTGPU_CONFIG names it, it must exist and be trusted.
void read_user_layer(Layers& layers) {
  const auto path = user_file(layers.environment);
  if (!path) return;
  const std::string shown = printable(path->string(), 200);
  const bool is_named = path == layers.environment("FASTGPU_CONFIG");
  const TrustedFile found = read_trusted(*path);
  if (found.text) {
    layers.user = Document::parse(*found.text, shown);
  } else if (is_named) {
    throw found.reason.empty()
        ? Error(ErrorKind::not_found, "FASTGPU_CONFIG: there is no file " + shown)
        : Error(ErrorKind::denied, "FASTGPU_CONFIG: " + shown + " is not used: " + found.reason);
  } else if (!found.reason.empty()) {
    layers.warnings.push_back(shown + " is ignored: " + found.reason);
  }
}

}  // namespace

std::span<const SettingInfo> setting_table() {
  return kSettings;
}

std::optional<std::string_view> former_setting(std::string_view key) {
  for (const auto& [former, present] : kRenamed)
    if (present == key) return former;
  return std::nullopt;
}

std::string variable_name(std::string_view key) {
  std::string name = "FASTGPU_";
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    name += c == '-' ? '_' : is_lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

std::optional<std::filesystem::path> user_file(const LookUp& environment) {
  const auto named = environment("FASTGPU_CONFIG");
  if (named && !named->empty()) return std::filesystem::path(*named);
  const auto config_home = environment("XDG_CONFIG_HOME");
  if (config_home && config_home->starts_with('/'))
    return std::filesystem::path(*config_home) / "fastgpu" / "config.yaml";
  const auto home = environment("HOME");
  if (home && home->starts_with('/'))
    return std::filesystem::path(*home) / ".config" / "fastgpu" / "config.yaml";
  return std::nullopt;
}

Layers read_layers(const std::filesystem::path& project, const LookUp& environment,
                   std::vector<std::string> providers) {
  Layers layers{.environment = environment, .providers = std::move(providers)};
  const TrustedFile found = read_trusted(project);
  if (!found.reason.empty())
    layers.warnings.push_back(printable(project.string()) + " is ignored: " + found.reason);
  try {
    if (found.text) layers.project = Document::parse(*found.text, printable(project.string()));
  } catch (const Error& e) {
    layers.project_fault = e;
  }
  read_user_layer(layers);
  return layers;
}

Settings::Settings(const Layers& layers)
    : project_fault_(layers.project_fault), warnings_(layers.warnings) {
  for (const SettingInfo& info : kSettings)
    settings_[std::string(info.key)] = {
        .text = std::string(info.fallback), .origin = Origin::built_in, .where = "default"};
  take_user(layers.user, layers);
  if (!project_fault_) {
    const auto before = settings_;
    try {
      take_project(layers.project, layers);
    } catch (const Error& e) {
      project_fault_ = e;
      settings_ = before;
    }
  }
  if (project_fault_) warnings_.push_back(std::string(project_fault_->what()));
  take_environment(layers);
}

void Settings::take_user(const Document& user, const Layers& layers) {
  check_fields(user);
  for (const SettingInfo& info : kSettings)
    if (const auto value = user.root().find(info.key))
      settings_[std::string(info.key)] = checked(info, *value, layers, Origin::user_file);
  groups_ = groups_in(user);
}

void Settings::take_project(const Document& project, const Layers& layers) {
  check_fields(project);
  for (const SettingInfo& info : kSettings) {
    const auto value = project.root().find(info.key);
    if (!value) continue;
    Setting setting = checked(info, *value, layers, Origin::project_file);
    if (info.files == SettingFiles::any)
      settings_[std::string(info.key)] = std::move(setting);
    else
      warnings_.push_back(value->where() + ": '" + std::string(info.key) +
                          "' is ignored: a project's file may not set it; set it in your own "
                          "(~/.config/fastgpu/config.yaml) or by " +
                          variable_name(info.key));
  }
  groups_.merge(groups_in(project));  // Existing groups stay.
}

void Settings::take_environment(const Layers& layers) {
  if (!layers.environment) return;
  for (const SettingInfo& info : kSettings) {
    const std::string name = variable_name(info.key);
    const auto text = layers.environment(name);
    if (!text || text->empty()) continue;
    Setting setting{.text = *text, .origin = Origin::environment, .where = name};
    check(info, value_of(setting, info.key), layers);
    settings_[std::string(info.key)] = std::move(setting);
  }
}

/// Throws the error of the project's file, if it could not be read.
void Settings::check_project() const {
  if (project_fault_) throw Error(*project_fault_);
}

std::optional<std::string> Settings::group(std::string_view name) const {
  const auto found = groups_.find(name);
  if (found != groups_.end()) return found->second;
  check_project();
  return std::nullopt;
}

std::vector<std::string> Settings::group_names() const {
  std::vector<std::string> names;
  for (const auto& [name, nodes] : groups_)
    names.push_back(name);
  return names;
}

const Setting& Settings::find(std::string_view key) const {
  const auto found = settings_.find(key);
  assert(found != settings_.end());
  if (key == "cluster" && found->second.origin != Origin::environment) check_project();
  return found->second;
}

int Settings::integer(std::string_view key, int least, int most) const {
  return value(key).integer(least, most);
}

bool Settings::boolean(std::string_view key) const {
  return value(key).boolean();
}

std::chrono::milliseconds Settings::duration(std::string_view key) const {
  return value(key).duration();
}

Value Settings::value(std::string_view key) const {
  return value_of(find(key), key);
}

}  // namespace fastgpu::config
