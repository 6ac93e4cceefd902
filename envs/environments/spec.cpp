#include "envs/environments/spec.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "agent/protocol/environment.hpp"
#include "base/names.hpp"
#include "envs/matrix/name.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

/// What activation sets itself.
constexpr std::array kReserved = {"PATH", "VIRTUAL_ENV", "FASTGPU_ENV"};

std::string line_of(const Value& value) {
  std::string text = value.text();
  const bool broken = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (text.empty() || broken)
    throw value.error("'" + value.name() + "' must be one line of text, not '" + printable(text) +
                      "'");
  return text;
}

std::vector<std::string> lines_of(const Value& value) {
  std::vector<std::string> lines;
  for (const Value& item : value.list())
    lines.push_back(line_of(item));
  return lines;
}

/// uv would take some lines for options, or for files.
std::vector<std::string> packages_of(const Value& value) {
  std::vector<std::string> packages = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < packages.size(); ++i) {
    const char first = packages[i].front();
    const bool plain = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                       (first >= '0' && first <= '9');
    if (!plain || packages[i].find('#') != std::string::npos)
      throw items[i].error("'" + printable(packages[i]) +
                           "' is no requirement: write it like numpy<2.3");
  }
  return packages;
}

std::string python_of(const Value& value) {
  std::string text = line_of(value);
  const bool is_path = text.front() == '/';
  const bool is_version =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!is_path && !is_version)
    throw value.error(
        "'python' must be a version such as 3.11 or the path of an interpreter, not '" +
        printable(text) + "'");
  return text;
}

std::vector<std::string> index_of(const Value& value) {
  std::vector<std::string> addresses =
      value.is_list() ? lines_of(value) : std::vector<std::string>{line_of(value)};
  for (const std::string& address : addresses)
    if (!address.starts_with("https://") && !address.starts_with("http://"))
      throw value.error("'" + printable(address) + "' is no address of a package index");
  return addresses;
}

std::vector<std::pair<std::string, std::string>> variables_of(const Value& value) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, entry] : value.entries()) {
    const bool usable = !name.empty() && (name.front() < '0' || name.front() > '9') &&
                        std::ranges::all_of(name, [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                 (c >= '0' && c <= '9') || c == '_';
                        });
    if (!usable) throw entry.error("'" + printable(name) + "' is no name of a variable");
    if (std::ranges::find(kReserved, name) != kReserved.end())
      throw entry.error("'" + name + "' is set by the environment itself");
    variables.emplace_back(name, entry.text());
  }
  return variables;
}

std::vector<std::vector<std::string>> commands_of(const Value& value) {
  std::vector<std::vector<std::string>> commands;
  for (const Value& item : value.list()) {
    if (!item.is_list() || item.texts().empty())
      throw item.error("a command must be a list of words, such as [python, -m, nltk.downloader]");
    commands.push_back(item.texts());
  }
  return commands;
}

Builder builder_of(const Value& value) {
  const std::string text = value.text();
  if (text == "uv" || text == "auto") return Builder::uv;
  throw value.error("'builder' must be uv or auto, not '" + printable(text) + "'");
}

void add_list(std::string& out, const char* key, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += std::string(key) + ":\n";
  for (const std::string& item : items)
    out += "  - " + yaml_scalar(item) + "\n";
}

}  // namespace

EnvironmentSpec read_environment_spec(const Value& root) {
  root.allow_only(
      {"name", "from", "python", "packages", "builder", "index", "variables", "post_install"});
  EnvironmentSpec spec;
  if (const auto name = root.find("name"))
    spec.name = name->parsed([](const std::string& text) {
      agent::check_environment_name(text);
      return text;
    });
  if (const auto from = root.find("from"))
    spec.from = from->parsed(
        [](const std::string& text) { return to_string(parse_environment_name(text)); });
  if (const auto python = root.find("python")) spec.python = python_of(*python);
  if (const auto packages = root.find("packages")) spec.packages = packages_of(*packages);
  if (const auto builder = root.find("builder")) spec.builder = builder_of(*builder);
  if (const auto index = root.find("index")) spec.index = index_of(*index);
  if (const auto variables = root.find("variables")) spec.variables = variables_of(*variables);
  if (const auto commands = root.find("post_install")) spec.post_install = commands_of(*commands);
  return spec;
}

std::string to_yaml(const EnvironmentSpec& spec) {
  std::string out = "name: " + yaml_scalar(spec.name) + "\npython: " + yaml_scalar(spec.python) +
                    "\nbuilder: uv\n";
  if (!spec.from.empty()) out += "from: " + yaml_scalar(spec.from) + "\n";
  add_list(out, "packages", spec.packages);
  add_list(out, "index", spec.index);
  if (!spec.variables.empty()) out += "variables:\n";
  for (const auto& [name, value] : spec.variables)
    out += "  " + name + ": " + yaml_scalar(value) + "\n";
  if (!spec.post_install.empty()) out += "post_install:\n";
  for (const auto& command : spec.post_install)
    out += "  - " + nlohmann::json(command).dump() + "\n";
  return out;
}

std::string sum_of(const EnvironmentSpec& spec) {
  return transfer::sha256_hex(to_yaml(spec));
}

std::string yaml_scalar(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace fastgpu::envs
