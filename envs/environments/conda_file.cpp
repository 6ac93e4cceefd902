#include "envs/environments/conda_file.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/names.hpp"
#include "envs/environments/fields.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

/// A word in place of a channel: it turns conda's own channels off.
constexpr std::string_view kNoDefaults = "nodefaults";
/// The packages that pip itself needs, and every environment has.
constexpr std::array<std::string_view, 4> kBesidePip = {"python", "pip", "setuptools", "wheel"};

struct Dependencies {
  std::vector<Value> conda;
  std::optional<Value> pip{};
};

Dependencies dependencies_of(const Value& list) {
  Dependencies out;
  for (const Value& item : list.list()) {
    if (!item.is_map()) {
      out.conda.push_back(item);
      continue;
    }
    item.allow_only({"pip"});
    if (out.pip) throw item.error("there are two lists of pip packages: merge them");
    out.pip = item.find("pip");
  }
  if (out.pip && out.pip->list().empty()) out.pip.reset();
  return out;
}

/// Returns "numpy" of "numpy=1.26=py311_0" and of "conda-forge::numpy >=1.20".
std::string package_in(const std::string& spec) {
  const std::size_t channel = spec.find("::");
  const std::size_t begin = channel == spec.npos ? 0 : channel + 2;
  const std::size_t end = spec.find_first_of(" \t=<>!~[", begin);
  return spec.substr(begin, std::min(end, spec.size()) - begin);
}

/// Returns the version in "python=3.11", "python ==3.11.4" or "python 3.11.*"; "" for "python".
/// Throws ErrorKind::usage for a range, which does not select one version for the nodes.
std::string python_version_in(const Value& item) {
  const std::string spec = item.text();
  std::string version = spec.substr(spec.find("python") + 6);
  version.erase(0, std::min(version.find_first_not_of(" \t="), version.size()));
  version.resize(std::min(version.find('='), version.size()));  // A build may follow the version.
  if (version.ends_with(".*")) version.resize(version.size() - 2);
  const bool is_version =
      std::ranges::all_of(version, [](char c) { return is_ascii_digit(c) || c == '.'; });
  if (!is_version)
    throw item.error("'" + printable(spec) +
                     "': with pip packages write one version of Python, such as python=3.11");
  return version;
}

/// Returns whether all packages but those that pip itself needs are in the list pip. Conda is not
/// needed then.
bool are_all_of_pip(const Dependencies& dependencies) {
  return dependencies.pip && std::ranges::all_of(dependencies.conda, [](const Value& item) {
           return contains(kBesidePip, package_in(item.text()));
         });
}

RequirementsFile pip_list(const Dependencies& dependencies, const std::filesystem::path& file,
                          const ReadFile& read) {
  std::string lines;
  for (const std::string& line : dependencies.pip->texts())
    lines += line + "\n";
  const std::filesystem::path list = file.parent_path() / (file.filename().string() + " (pip)");
  const auto read_list = [&](const std::filesystem::path& one) {
    return one == list ? std::optional(lines) : read(one);
  };
  return read_requirements(list, read_list);
}

std::string pip_as_yaml(const Dependencies& dependencies, const RequirementsFile& pip) {
  std::string out;
  for (const Value& item : dependencies.conda) {
    if (package_in(item.text()) != "python") continue;
    const std::string version = python_version_in(item);
    if (!version.empty()) out += "python: " + yaml_scalar(version) + "\n";
  }
  return out + to_yaml(pip, "packages");
}

std::string conda_as_yaml(const Value& root, const std::vector<Value>& conda) {
  std::vector<std::string> channels;
  if (const auto list = root.find("channels")) channels = list->texts();
  std::erase(channels, kNoDefaults);
  std::vector<std::string> packages;
  for (const Value& item : conda)
    packages.push_back(item.text());
  return "builder: conda\n" + yaml_list("channels", channels) + yaml_list("packages", packages);
}

}  // namespace

bool is_conda_file(const config::Document& document) {
  return document.root().is_map() && document.root().find("dependencies").has_value();
}

std::string conda_file_as_yaml(const config::Document& document, const std::filesystem::path& file,
                               const ReadFile& read) {
  const Value root = document.root();
  root.allow_only({"name", "channels", "dependencies", "variables", "prefix"});
  std::string out;
  if (const auto name = root.find("name")) out += "name: " + yaml_scalar(name->text()) + "\n";
  const Dependencies dependencies = dependencies_of(*root.find("dependencies"));
  const RequirementsFile pip =
      dependencies.pip ? pip_list(dependencies, file, read) : RequirementsFile{};
  out += are_all_of_pip(dependencies)
             ? pip_as_yaml(dependencies, pip)
             : conda_as_yaml(root, dependencies.conda) + to_yaml(pip, "pip");
  if (const auto variables = root.find("variables")) {
    out += "variables:\n";
    for (const auto& [name, value] : variables->entries())
      out += "  " + yaml_scalar(name) + ": " + yaml_scalar(value.text()) + "\n";
  }
  return out;
}

}  // namespace fastgpu::envs
