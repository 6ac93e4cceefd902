#include "envs/environments/spec.hpp"

#include <algorithm>
#include <array>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/index_login.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "envs/environments/fields.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/matrix/name.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

constexpr const char* kUsualChannel = "conda-forge";
constexpr const char* kElsewhere =
    "set an 'index', and put its password into --index-credentials FILE or ~/.netrc";
/// The variables that activation sets itself.
constexpr std::array kReserved = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "FASTGPU_ENV"};

std::vector<std::string> packages_of(const Value& value) {
  std::vector<std::string> packages = lines_of(value);
  for (const Value& item : value.list())
    item.parsed([](const std::string& line) {
      check_package_line(line);
      return 0;
    });
  return packages;
}

/// Refuses pip's hashes: conda's requirements have another syntax for them.
void check_for_conda(const Value& packages) {
  for (const Value& item : packages.list())
    if (const Requirement one = parse_requirement(item.text());
        !one.wheel.empty() || !one.url.empty())
      throw item.error("a wheel is not a conda package: list it under 'pip'");
    else if (!one.hashes.empty())
      throw item.error(
          "--hash is for pip, but the builder is conda: write it like numpy[sha256=...]");
}

/// Refuses comparisons that neither pip nor uv reads.
void check_for_pip(const Value& packages) {
  for (const Value& item : packages.list())
    item.checked([&] { check_comparisons(parse_requirement(item.text())); });
}

/// Reads names without versions: the version is the solution's.
std::vector<std::string> sources_of(const Value& value) {
  std::vector<std::string> names = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!agent::is_package_name(names[i]))
      throw items[i].error("'" + printable(names[i]) +
                           "' is not a package name: write it like gast, without a version");
    names[i] = agent::normalized_package_name(names[i]);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string python_of(const Value& value) {
  std::string text = line_of(value);
  const bool is_path = text.front() == '/';
  const bool is_version =
      std::ranges::all_of(text, [](char c) { return is_ascii_digit(c) || c == '.'; });
  if (!is_path && !is_version)
    throw value.error("must be a version such as 3.11 or the path of an interpreter, not '" +
                      printable(text) + "'");
  return text;
}

}  // namespace

namespace {

/// Returns whether the text before "://" is "name @ https": neither a repository's address, nor a
/// bare one.
bool names_wheel(const std::string& before) {
  const auto at = before.find_last_of(" \t@");
  if (at == std::string::npos || before.find('@') == std::string::npos) return false;
  const std::string scheme = before.substr(at + 1);
  return scheme == "https" || scheme == "http";
}

}  // namespace

void check_package_line(const std::string& line) {
  const std::string shown = printable(agent::hide_logins(line));
  const char first = line.front();
  const bool plain = is_ascii_letter_or_digit(first) || first == '_';
  const bool is_path = first == '.' || first == '/';
  const auto comment = line.find('#');
  const bool is_of_address = comment != std::string::npos && line.find("://") < comment;
  if ((!plain && !is_path) || (comment != std::string::npos && !is_of_address))
    throw Error(ErrorKind::usage, "'" + shown + "' is not a requirement: write it like numpy<2.3");
  if (!parse_requirement(line).wheel.empty()) return;  // Throws for options.
  if (const auto at = line.find("://"); at != std::string::npos && !names_wheel(line.substr(0, at)))
    throw Error(
        ErrorKind::usage,
        "'" + shown + "' is not a package of an index: build a wheel of it and put it on an index");
  if (agent::hide_logins(line) != line)
    throw Error(ErrorKind::usage, "'" + shown +
                                      "' has a password in it, which would be stored on "
                                      "all nodes: " +
                                      kElsewhere);
}

PythonArchive read_python_archive(const Value& value) {
  value.allow_only({"archive", "sha256"});
  const auto url = value.find("archive");
  const auto sum = value.find("sha256");
  if (!url || !sum)
    throw value.error("an archive of Python needs 'archive' (its address) and 'sha256'");
  return {.url = url_of(*url, "an archive"), .sha256 = sha256_of(*sum)};
}

namespace {

void read_python(EnvironmentSpec& spec, const Value& value) {
  spec.python.clear();
  if (value.is_map())
    spec.python_archive = read_python_archive(value);
  else
    spec.python = python_of(value);
}

/// Returns the address alone; a user name and password in it go to `logins`.
std::string index_address(const Value& value, IndexLogins& logins) {
  std::string text = line_of(value);
  if (agent::has_login(text)) {
    value.parsed([&](const std::string& whole) {
      logins.add(Secret(whole));
      return 0;
    });
    text = agent::without_login(text);
  }
  check_url(value, text, "a package index");
  if (text.find_first_of("?#") != std::string::npos)
    throw value.error("the address of an index cannot contain '?' or '#'");
  return text;
}

std::vector<std::string> index_of(const Value& value, IndexLogins& logins) {
  if (!value.is_list()) return {index_address(value, logins)};
  std::vector<std::string> addresses;
  for (const Value& item : value.list())
    addresses.push_back(index_address(item, logins));
  return addresses;
}

/// Returns the addresses by package, sorted.
std::vector<std::pair<std::string, std::string>> index_for_of(const Value& value,
                                                              IndexLogins& logins) {
  std::vector<std::pair<std::string, std::string>> index_for;
  for (const auto& [name, address] : value.entries()) {
    if (!agent::is_package_name(name))
      throw address.error("'" + printable(name) + "' is not a package name");
    index_for.emplace_back(agent::normalized_package_name(name), index_address(address, logins));
  }
  std::ranges::sort(index_for);
  return index_for;
}

IndexStrategy index_strategy_of(const Value& value) {
  const std::string text = value.text();
  if (text == "first-match") return IndexStrategy::first_match;
  if (text == "best-match") return IndexStrategy::best_match;
  throw value.error("must be first-match or best-match, not '" + printable(text) + "'");
}

std::vector<std::pair<std::string, std::string>> variables_of(const Value& value) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, entry] : value.entries()) {
    const bool usable =
        !name.empty() && (name.front() < '0' || name.front() > '9') &&
        std::ranges::all_of(name, [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; });
    if (!usable) throw entry.error("'" + printable(name) + "' is not a variable name");
    if (contains(kReserved, name))
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

std::vector<std::string> channels_of(const Value& value, IndexLogins& logins) {
  std::vector<std::string> channels = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    std::string& channel = channels[i];
    const bool is_address = is_url(channel);
    if (is_address) channel = index_address(items[i], logins);
    if (channel.find("/t/") != std::string::npos)
      throw items[i].error(
          "has a token in its path ('/t/...'), which would be stored on all nodes: use a user name "
          "and a password for a channel");
    const bool is_name = std::ranges::all_of(channel, [](char c) {
      return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/';
    });
    if (!is_address &&
        (!is_name || std::string_view("/.-").find(channel.front()) != std::string_view::npos))
      throw items[i].error("'" + printable(agent::hide_logins(channel)) +
                           "' is not a channel: write a name such as conda-forge, or an address");
  }
  return channels;
}

/// Returns the builder; auto is conda if channels are named.
Builder builder_of(const std::optional<Value>& value, bool has_channels) {
  const std::string text = value ? value->text() : "auto";
  if (text == "auto") return has_channels ? Builder::conda : Builder::uv;
  if (text == "uv") return Builder::uv;
  if (text == "conda") return Builder::conda;
  throw value->error("must be uv, conda or auto, not '" + printable(text) + "'");
}

/// Refuses fields of the other builder at their places.
void check_for_builder(const Value& root, const EnvironmentSpec& spec) {
  const bool is_conda = spec.builder == Builder::conda;
  const bool has_wheels = !is_conda || !spec.pip.empty();
  if (const auto pip = root.find("pip"); pip && !is_conda)
    throw pip->error(
        "this is for wheels beside conda packages; the builder is uv: name them under 'packages'");
  if (const auto channels = root.find("channels"); channels && !is_conda)
    throw channels->error("these are for conda, but the builder is uv");
  if (const auto index = root.find("index"); index && !has_wheels)
    throw index->error(
        "this is for wheels, but the builder is conda: use 'channels', or list wheels under 'pip'");
  for (const char* key : {"index_strategy", "index_for"})
    if (const auto one = root.find(key); one && !has_wheels)
      throw one->error("this is for wheels; conda uses the first channel that has a package");
  if (const auto sources = root.find("sources"); sources && is_conda)
    throw sources->error("these are for uv, but the builder is conda, which builds nothing");
  if (const auto python = root.find("python");
      python && is_conda && (spec.python_archive || spec.python.front() == '/'))
    throw python->error("must be a version such as 3.11 with builder conda");
}

/// Refuses another CANN than the one in a name.
void check_accelerator(const Value& root, const EnvironmentSpec& spec) {
  if (spec.from.empty() || !spec.needs.cann) return;
  const WantedName wanted = parse_wanted_name(spec.from);
  if (!wanted.has_accelerator) return;
  const Accelerator& made_for = wanted.name.accelerator;
  const std::string& version = spec.needs.cann->version;
  if (made_for.platform == Platform::cann && covers(made_for.version, version)) return;
  throw root.find("cann")->error("CANN " + version + " does not match '" + spec.from + "'");
}

Mpi mpi_of(const Value& value) {
  const std::string text = value.text();
  if (text == "package") return Mpi::package;
  if (text == "system") return Mpi::system;
  throw value.error("must be package or system, not '" + printable(text) + "'");
}

Bytecode bytecode_of(const Value& value) {
  const std::string text = value.text();
  if (text == "compiled") return Bytecode::compiled;
  if (text == "none") return Bytecode::none;
  throw value.error("must be compiled or none, not '" + printable(text) + "'");
}

}  // namespace

std::string word_for(Builder builder) {
  switch (builder) {
    case Builder::uv:
      return "uv";
    case Builder::conda:
      return "conda";
  }
  return "";
}

std::string word_for(Mpi mpi) {
  switch (mpi) {
    case Mpi::package:
      return "package";
    case Mpi::system:
      return "system";
  }
  return "";
}

std::string word_for(IndexStrategy strategy) {
  switch (strategy) {
    case IndexStrategy::first_match:
      return "first-match";
    case IndexStrategy::best_match:
      return "best-match";
  }
  return "";
}

std::string word_for(Bytecode bytecode) {
  switch (bytecode) {
    case Bytecode::compiled:
      return "compiled";
    case Bytecode::none:
      return "none";
  }
  return "";
}

EnvironmentSpec read_environment_spec(const Value& root) {
  root.allow_only({"name",    "from",           "python",    "packages",  "pip",
                   "sources", "builder",        "channels",  "mpi",       "bytecode",
                   "index",   "index_strategy", "index_for", "apt",       "driver",
                   "cuda",    "cann",           "rdma",      "variables", "post_install"});
  EnvironmentSpec spec;
  if (const auto name = root.find("name"))
    spec.name = name->parsed([](const std::string& text) {
      agent::check_environment_name(text);
      return text;
    });
  if (const auto from = root.find("from"))
    spec.from =
        from->parsed([](const std::string& text) { return to_string(parse_wanted_name(text)); });
  if (const auto channels = root.find("channels"))
    spec.channels = channels_of(*channels, spec.logins);
  spec.builder = builder_of(root.find("builder"), !spec.channels.empty());
  if (spec.builder == Builder::conda) {
    spec.python.clear();
    if (spec.channels.empty()) spec.channels = {kUsualChannel};
  }
  if (const auto python = root.find("python")) read_python(spec, *python);
  if (const auto packages = root.find("packages")) {
    spec.packages = packages_of(*packages);
    spec.builder == Builder::conda ? check_for_conda(*packages) : check_for_pip(*packages);
  }
  if (const auto pip = root.find("pip")) {
    spec.pip = packages_of(*pip);
    check_for_pip(*pip);
  }
  if (const auto sources = root.find("sources")) spec.sources = sources_of(*sources);
  if (const auto mpi = root.find("mpi")) spec.mpi = mpi_of(*mpi);
  if (const auto bytecode = root.find("bytecode")) spec.bytecode = bytecode_of(*bytecode);
  if (const auto index = root.find("index")) spec.index = index_of(*index, spec.logins);
  if (const auto strategy = root.find("index_strategy"))
    spec.index_strategy = index_strategy_of(*strategy);
  if (const auto index_for = root.find("index_for"))
    spec.index_for = index_for_of(*index_for, spec.logins);
  spec.needs = read_node_needs(root);
  if (const auto variables = root.find("variables")) spec.variables = variables_of(*variables);
  if (const auto commands = root.find("post_install")) spec.post_install = commands_of(*commands);
  check_for_builder(root, spec);
  check_accelerator(root, spec);
  return spec;
}

std::string to_yaml(const EnvironmentSpec& spec) {
  std::string out = "name: " + yaml_scalar(spec.name) + "\n";
  if (!spec.python.empty()) out += "python: " + yaml_scalar(spec.python) + "\n";
  if (spec.python_archive)
    out += "python:\n  archive: " + yaml_scalar(spec.python_archive->url) +
           "\n  sha256: " + spec.python_archive->sha256 + "\n";
  out += "builder: " + word_for(spec.builder) + "\n";
  if (spec.mpi == Mpi::system) out += "mpi: system\n";
  if (spec.bytecode == Bytecode::none) out += "bytecode: none\n";
  if (!spec.from.empty()) out += "from: " + yaml_scalar(spec.from) + "\n";
  out += yaml_list("packages", spec.packages);
  out += yaml_list("pip", spec.pip);
  out += yaml_list("sources", spec.sources);
  out += yaml_list("channels", spec.channels);
  out += yaml_list("index", spec.index);
  if (spec.index_strategy == IndexStrategy::best_match) out += "index_strategy: best-match\n";
  if (!spec.index_for.empty()) out += "index_for:\n";
  for (const auto& [package, address] : spec.index_for)
    out += "  " + package + ": " + yaml_scalar(address) + "\n";
  out += to_yaml(spec.needs);
  if (!spec.variables.empty()) out += "variables:\n";
  for (const auto& [name, value] : spec.variables)
    out += "  " + name + ": " + yaml_scalar(value) + "\n";
  if (!spec.post_install.empty()) out += "post_install:\n";
  for (const auto& command : spec.post_install)
    out += "  - " + nlohmann::json(command).dump() + "\n";
  return out;
}

std::span<const std::string> index_requirements(const EnvironmentSpec& spec) {
  return spec.builder == Builder::conda ? spec.pip : spec.packages;
}

std::string sum_of(const EnvironmentSpec& spec) {
  return transfer::sha256_hex(to_yaml(spec));
}

}  // namespace fastgpu::envs
