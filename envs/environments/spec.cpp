#include "envs/environments/spec.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/names.hpp"
#include "envs/matrix/name.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

constexpr const char* kUsualChannel = "conda-forge";
/// What activation sets itself.
constexpr std::array kReserved = {"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "FASTGPU_ENV"};

std::string line_of(const Value& value) {
  std::string text = value.text();
  const bool broken = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (text.empty() || broken)
    throw value.error("must be one line of text, not '" + printable(text) + "'");
  return text;
}

std::vector<std::string> lines_of(const Value& value) {
  std::vector<std::string> lines;
  for (const Value& item : value.list())
    lines.push_back(line_of(item));
  return lines;
}

/// Builders would take some lines for options, or for files.
std::vector<std::string> packages_of(const Value& value) {
  std::vector<std::string> packages = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < packages.size(); ++i) {
    const char first = packages[i].front();
    const bool plain = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') ||
                       (first >= '0' && first <= '9') || first == '_';
    if (!plain || packages[i].find('#') != std::string::npos)
      throw items[i].error("'" + printable(packages[i]) +
                           "' is no requirement: write it like numpy<2.3");
  }
  return packages;
}

/// Names alone: the version is the solution's.
std::vector<std::string> sources_of(const Value& value) {
  std::vector<std::string> names = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!agent::is_package_name(names[i]))
      throw items[i].error("'" + printable(names[i]) +
                           "' is no name of a package: write it like gast, without a version");
    names[i] = agent::normalized_package_name(names[i]);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::unique(names);
  names.erase(twice.begin(), twice.end());
  return names;
}

std::string python_of(const Value& value) {
  std::string text = line_of(value);
  const bool is_path = text.front() == '/';
  const bool is_version =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!is_path && !is_version)
    throw value.error("must be a version such as 3.11 or the path of an interpreter, not '" +
                      printable(text) + "'");
  return text;
}

}  // namespace

PythonArchive read_python_archive(const Value& value) {
  value.allow_only({"archive", "sha256"});
  const auto url = value.find("archive");
  const auto sum = value.find("sha256");
  if (!url || !sum)
    throw value.error("a Python's archive has 'archive', its address, and 'sha256'");
  PythonArchive archive{.url = line_of(*url), .sha256 = sum->text()};
  if (!archive.url.starts_with("https://") && !archive.url.starts_with("http://"))
    throw url->error("'" + printable(archive.url) + "' is no address of an archive");
  constexpr std::size_t kDigits = 64;
  if (archive.sha256.size() != kDigits ||
      archive.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw sum->error("'" + printable(archive.sha256) + "' is no SHA-256 of 64 hexadecimal digits");
  return archive;
}

namespace {

void read_python(EnvironmentSpec& spec, const Value& value) {
  spec.python.clear();
  if (value.is_map())
    spec.python_archive = read_python_archive(value);
  else
    spec.python = python_of(value);
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

std::vector<std::string> channels_of(const Value& value) {
  std::vector<std::string> channels = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::string& channel = channels[i];
    const bool is_address = channel.starts_with("https://") || channel.starts_with("http://");
    const bool is_name = std::ranges::all_of(channel, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_' || c == '.' || c == '/';
    });
    if (!is_address && (!is_name || channel.front() == '/' || channel.front() == '.'))
      throw items[i].error("'" + printable(channel) +
                           "' is no channel: write a name such as conda-forge, or an address");
  }
  return channels;
}

/// auto is conda where channels are named.
Builder builder_of(const std::optional<Value>& value, bool has_channels) {
  const std::string text = value ? value->text() : "auto";
  if (text == "auto") return has_channels ? Builder::conda : Builder::uv;
  if (text == "uv") return Builder::uv;
  if (text == "conda") return Builder::conda;
  throw value->error("must be uv, conda or auto, not '" + printable(text) + "'");
}

/// What belongs to the other builder is refused where it stands.
void check_for_builder(const Value& root, const EnvironmentSpec& spec) {
  const bool is_conda = spec.builder == Builder::conda;
  if (const auto channels = root.find("channels"); channels && !is_conda)
    throw channels->error("these are conda's, and the builder is uv");
  if (const auto index = root.find("index"); index && is_conda)
    throw index->error("this is uv's, and the builder is conda: name its 'channels'");
  if (const auto sources = root.find("sources"); sources && is_conda)
    throw sources->error("these are uv's, and the builder is conda, which builds nothing");
  if (const auto python = root.find("python");
      python && is_conda && (spec.python_archive || spec.python.front() == '/'))
    throw python->error("must be a version such as 3.11 where conda brings it");
}

/// As Debian's policy has it (5.6.1); apt would remove one that ends in '-'.
std::vector<std::string> apt_packages_of(const Value& value) {
  std::vector<std::string> names = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_name =
        name.size() > 1 && name.find_first_of("+-.") != 0 && name.back() != '-' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos;
    if (!is_name)
      throw items[i].error("'" + printable(name) +
                           "' is no name of a package: write it like libaio1");
  }
  return names;
}

std::string release_of(const Value& value, const char* example) {
  std::string text = line_of(value);
  const bool is_version =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!is_version)
    throw value.error(std::string("must be a version such as ") + example + ", not '" +
                      printable(text) + "'");
  return text;
}

NodeNeeds needs_of(const Value& root) {
  NodeNeeds needs;
  if (const auto apt = root.find("apt")) needs.apt = apt_packages_of(*apt);
  if (const auto driver = root.find("driver")) needs.driver = release_of(*driver, "580");
  if (const auto cuda = root.find("cuda")) needs.cuda = release_of(*cuda, "13.0");
  return needs;
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

void add_list(std::string& out, const char* key, const std::vector<std::string>& items) {
  if (items.empty()) return;
  out += std::string(key) + ":\n";
  for (const std::string& item : items)
    out += "  - " + yaml_scalar(item) + "\n";
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
  root.allow_only({"name", "from", "python", "packages", "sources", "builder", "channels", "mpi",
                   "bytecode", "index", "apt", "driver", "cuda", "variables", "post_install"});
  EnvironmentSpec spec;
  if (const auto name = root.find("name"))
    spec.name = name->parsed([](const std::string& text) {
      agent::check_environment_name(text);
      return text;
    });
  if (const auto from = root.find("from"))
    spec.from =
        from->parsed([](const std::string& text) { return to_string(parse_wanted_name(text)); });
  if (const auto channels = root.find("channels")) spec.channels = channels_of(*channels);
  spec.builder = builder_of(root.find("builder"), !spec.channels.empty());
  if (spec.builder == Builder::conda) {
    spec.python.clear();
    if (spec.channels.empty()) spec.channels = {kUsualChannel};
  }
  if (const auto python = root.find("python")) read_python(spec, *python);
  if (const auto packages = root.find("packages")) spec.packages = packages_of(*packages);
  if (const auto sources = root.find("sources")) spec.sources = sources_of(*sources);
  if (const auto mpi = root.find("mpi")) spec.mpi = mpi_of(*mpi);
  if (const auto bytecode = root.find("bytecode")) spec.bytecode = bytecode_of(*bytecode);
  if (const auto index = root.find("index")) spec.index = index_of(*index);
  spec.needs = needs_of(root);
  if (const auto variables = root.find("variables")) spec.variables = variables_of(*variables);
  if (const auto commands = root.find("post_install")) spec.post_install = commands_of(*commands);
  check_for_builder(root, spec);
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
  add_list(out, "packages", spec.packages);
  add_list(out, "sources", spec.sources);
  add_list(out, "channels", spec.channels);
  add_list(out, "index", spec.index);
  add_list(out, "apt", spec.needs.apt);
  if (!spec.needs.driver.empty()) out += "driver: " + yaml_scalar(spec.needs.driver) + "\n";
  if (!spec.needs.cuda.empty()) out += "cuda: " + yaml_scalar(spec.needs.cuda) + "\n";
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
