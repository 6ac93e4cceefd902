#include "launcher/job_file.hpp"

#include <algorithm>
#include <array>

#include "base/host_names.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {
namespace {

constexpr int kMostSlots = 1'024;
constexpr const char* kEngine = "mpirun";  ///< The only engine.

const std::vector<std::string> kLaunchers = {"mpirun", "torchrun", "plain"};
const std::vector<std::string> kUnits = {"core", "numa", "socket", "gpu"};
const std::vector<std::string> kInputs = {"rank0", "all", "none"};

std::vector<std::pair<std::string, std::string>> environment_of(const config::Value& value) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, entry] : value.entries()) {
    if (!is_variable_name(name))
      throw entry.error("'" + printable(name) + "' is not a name of an environment variable");
    variables.emplace_back(name, entry.text());
  }
  return variables;
}

/// Returns a list of words. A single text would need a shell's rules to be split, which fastgpu
/// avoids.
std::vector<std::string> command_of(const config::Value& value) {
  if (!value.is_list())
    throw value.error("the command must be a list of words, such as [python, train.py]");
  std::vector<std::string> words = value.texts();
  if (words.empty() || words.front().empty()) throw value.error("the command is empty");
  return words;
}

std::string path_of(const config::Value& value) {
  std::string text = value.text();
  if (text.empty()) throw value.error("the path is empty");
  return text;
}

std::string variable_name_of(const config::Value& value) {
  std::string name = value.text();
  if (name.find('=') != std::string::npos)
    throw value.error("a secret's value does not belong in a file like this: name the variable");
  if (!is_variable_name(name))
    throw value.error("'" + printable(name) + "' is not a name of an environment variable");
  return name;
}

JobSecret secret_of(const config::Value& value) {
  if (!value.is_map()) return {.name = variable_name_of(value)};
  value.allow_only({"name", "file"});
  const auto name = value.find("name");
  const auto file = value.find("file");
  if (!name || !file) throw value.error("a secret is a variable's name, or has 'name' and 'file'");
  return {.name = variable_name_of(*name), .file = path_of(*file)};
}

}  // namespace

JobFile read_job_file(const config::Document& document) {
  const config::Value root = document.root();
  root.allow_only({"name",           "cluster", "np",      "npernode", "per",     "env",
                   "secrets",        "sync",    "workdir", "command",  "timeout", "grace",
                   "keep_processes", "detach",  "engine",  "launcher", "stdin",   "priority",
                   "after",          "share"});
  JobFile file;
  if (const auto name = root.find("name"))
    file.name = name->parsed([](const std::string& text) { return parse_job_name(text).value; });
  if (const auto cluster = root.find("cluster"))
    file.cluster =
        cluster->parsed([](const std::string& text) { return parse_cluster_name(text).value; });
  if (const auto np = root.find("np")) file.np = np->integer(1, kMostRanks);
  if (const auto npernode = root.find("npernode")) file.npernode = npernode->integer(1, kMostSlots);
  if (const auto per = root.find("per")) file.per = per->choice(kUnits);
  if (const auto env = root.find("env")) file.env = environment_of(*env);
  if (const auto secrets = root.find("secrets"))
    for (const config::Value& secret : secrets->list())
      file.secrets.push_back(secret_of(secret));
  if (const auto sync = root.find("sync")) file.sync = path_of(*sync);
  if (const auto workdir = root.find("workdir")) file.workdir = path_of(*workdir);
  if (const auto command = root.find("command")) file.command = command_of(*command);
  if (const auto timeout = root.find("timeout")) file.timeout = timeout->duration();
  if (const auto grace = root.find("grace")) file.grace = grace->duration();
  if (const auto keep = root.find("keep_processes")) file.keep_processes = keep->boolean();
  if (const auto detach = root.find("detach")) file.detach = detach->boolean();
  if (const auto engine = root.find("engine"))
    file.engine = engine->choice(std::vector<std::string>{kEngine});
  if (const auto priority = root.find("priority"))
    file.priority = priority->integer(-kMostPriority, kMostPriority);
  if (const auto after = root.find("after")) file.after = after->texts();
  if (const auto share = root.find("share")) file.share = share->boolean();
  if (const auto launcher = root.find("launcher")) file.launcher = launcher->choice(kLaunchers);
  if (const auto input = root.find("stdin")) file.stdin_to = input->choice(kInputs);
  return file;
}

}  // namespace fastgpu::launcher
