#include "launcher/job_file.hpp"

#include <algorithm>
#include <array>
#include <regex>

#include "agent/protocol/environment.hpp"
#include "base/host_names.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "config/settings.hpp"
#include "launcher/array.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/job.hpp"
#include "launcher/library_settings.hpp"
#include "launcher/recovery.hpp"
#include "state/words.hpp"

namespace fastgpu::launcher {
namespace {

constexpr int kMostSlots = 1'024;

std::vector<std::string> engine_words() {
  return {"mpirun", "slurm", "kubernetes"};
}

std::vector<std::string> launcher_words() {
  return {"mpirun", "torchrun", "plain"};
}

std::vector<std::string> unit_words() {
  return {"core", "numa", "socket", "gpu"};
}

std::vector<std::string> full_disk_words() {
  return {"continue", "stop"};
}

std::vector<std::string> input_words() {
  return {"rank0", "all", "none"};
}

std::vector<std::pair<std::string, std::string>> environment_of(const config::Value& value) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, entry] : value.entries()) {
    if (!is_variable_name(name))
      throw entry.error("'" + printable(name) + "' is not a name of an environment variable");
    entry.checked([&name = name] { check_rank_variable(name); });
    variables.emplace_back(name, entry.text());
  }
  return variables;
}

/// Adds the variable of a library's setting, unless `env` of the file has it.
void add_setting(JobFile& file, const std::string& variable, std::string value) {
  const bool has_it =
      std::ranges::any_of(file.env, [&](const auto& entry) { return entry.first == variable; });
  if (!has_it) file.env.emplace_back(variable, std::move(value));
}

/// Reads the variables of every rank.
void read_variables(const config::Value& root, JobFile& file) {
  if (const auto env = root.find("env")) file.env = environment_of(*env);
  if (const auto mpi = root.find("mpi"))
    for (const auto& [name, entry] : mpi->entries()) {
      entry.checked([&name = name] { check_parameter_name(name); });
      std::string value = entry.filled_text();
      if (is_set_anyway(name, value)) continue;
      const std::string_view reason = reason_against_parameter(name);
      if (!reason.empty()) throw entry.error(std::string(reason));
      add_setting(file, std::string(kMpiPrefix) + name, std::move(value));
    }
  if (const auto nccl = root.find("nccl"))
    for (const auto& [name, entry] : nccl->entries()) {
      entry.checked([&name = name] { check_nccl_name(name); });
      add_setting(file, std::string(kNcclPrefix) + name, entry.text());
    }
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

/// Returns a duration that `check` accepts.
std::chrono::milliseconds checked_duration(const config::Value& value,
                                           void (*check)(std::chrono::milliseconds)) {
  const std::chrono::milliseconds duration = value.duration();
  value.checked([&] { check(duration); });
  return duration;
}

transfer::NodePath node_path_of(const config::Value& value) {
  return value.parsed(transfer::parse_node_path);
}

/// Returns a path on this machine. "~" is refused, because only shells expand it: a directory named
/// "~" is easily deleted in the wrong way.
std::string local_path_of(const config::Value& value) {
  std::string path = value.filled_text();
  if (path == "~" || path.starts_with("~/"))
    throw value.error("'" + printable(path) +
                      "': ~ is not expanded in paths of this machine: write the full path, or one "
                      "that starts in the current directory");
  return path;
}

std::string variable_name_of(const config::Value& value) {
  std::string name = value.text();
  if (name.find('=') != std::string::npos)
    throw value.error("a secret's value does not belong in a file like this: name the variable");
  if (!is_variable_name(name))
    throw value.error("'" + printable(name) + "' is not a name of an environment variable");
  value.checked([&] { check_rank_variable(name); });
  return name;
}

JobSecret secret_of(const config::Value& value) {
  std::string place = value.where() + ": '" + value.name() + "'";
  if (!value.is_map()) return {.name = variable_name_of(value), .place = std::move(place)};
  value.allow_only({"name", "file"});
  const auto name = value.find("name");
  const auto file = value.find("file");
  if (!name || !file) throw value.error("a secret is a variable's name, or has 'name' and 'file'");
  return {.name = variable_name_of(*name), .file = local_path_of(*file), .place = std::move(place)};
}

/// Returns a text that Slurm takes as one word, which may have the marks in `more`.
std::string word_of(const config::Value& value, std::string_view more = {}) {
  return value.parsed([&](const std::string& text) { return checked_slurm_word(text, more); });
}

/// Returns an amount of memory as sbatch reads it: "64G", or "0" for all.
std::string slurm_memory_of(const config::Value& value) {
  static const std::regex pattern("0|[1-9][0-9]{0,8}[KMGT]");
  std::string text = value.text();
  if (!std::regex_match(text, pattern))
    throw value.error("'" + printable(text) +
                      "' is not an amount of memory such as 64G or 4000M, or 0 for all of it");
  return text;
}

/// Reads the GPUs of each node: "8", or "a100:8".
void read_slurm_gpus(const config::Value& value, SlurmOptions& slurm) {
  constexpr int kMostOfNode = 1'024;
  const std::string text = value.text();
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) {
    slurm.gpus = value.integer(1, kMostOfNode);
    return;
  }
  static const std::regex typed("[A-Za-z0-9][A-Za-z0-9_.-]*:[1-9][0-9]{0,3}");
  const auto count = to_number<int>(text.substr(colon + 1));
  slurm.gpu_type = text.substr(0, colon);
  if (!std::regex_match(text, typed) || !count || *count > kMostOfNode)
    throw value.error("'" + printable(text) + "' is not a number of GPUs, such as 8 or a100:8");
  slurm.gpus = count;
}

SlurmOptions slurm_of(const config::Value& value) {
  constexpr int kMostNodes = 100'000, kMostOfNode = 1'024;
  value.allow_only({"partition", "account", "qos", "mpi", "nodes", "gpus", "cpus", "memory",
                    "memory_per_cpu", "constraint", "reservation", "nodelist", "exclude",
                    "exclusive"});
  SlurmOptions slurm;
  if (const auto partition = value.find("partition")) slurm.partition = word_of(*partition);
  if (const auto account = value.find("account")) slurm.account = word_of(*account);
  if (const auto qos = value.find("qos")) slurm.qos = word_of(*qos);
  if (const auto mpi = value.find("mpi")) slurm.mpi = word_of(*mpi);
  if (const auto nodes = value.find("nodes")) slurm.nodes = nodes->integer(1, kMostNodes);
  if (const auto gpus = value.find("gpus")) read_slurm_gpus(*gpus, slurm);
  if (const auto cpus = value.find("cpus")) slurm.cpus = cpus->integer(1, kMostOfNode);
  if (const auto memory = value.find("memory")) slurm.memory = slurm_memory_of(*memory);
  if (const auto memory = value.find("memory_per_cpu")) {
    slurm.memory_per_cpu = slurm_memory_of(*memory);
    if (!slurm.memory.empty())
      throw memory->error("the memory is that of each node or of each core, not both");
  }
  if (const auto features = value.find("constraint"))
    slurm.constraint = word_of(*features, "&|*()[]!");
  if (const auto name = value.find("reservation")) slurm.reservation = word_of(*name);
  if (const auto nodes = value.find("nodelist")) slurm.nodelist = word_of(*nodes, "[]");
  if (const auto nodes = value.find("exclude")) slurm.exclude = word_of(*nodes, "[]");
  if (const auto alone = value.find("exclusive")) slurm.exclusive = alone->boolean();
  return slurm;
}

/// Returns a quantity of Kubernetes: "8", "500m", "64Gi".
std::string quantity_of(const config::Value& value) {
  static const std::regex pattern("([0-9]+\\.?[0-9]*|\\.[0-9]+)(m|k|M|G|T|Ki|Mi|Gi|Ti)?");
  std::string text = value.text();
  if (!std::regex_match(text, pattern))
    throw value.error("'" + printable(text) + "' is not a quantity such as 8, 500m or 64Gi");
  return text;
}

/// Returns a text that is one word.
std::string one_word_of(const config::Value& value) {
  std::string text = value.text();
  const bool is_word =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
  if (!is_word) throw value.error("'" + printable(text) + "' is not one word");
  return text;
}

/// Returns a namespace, by the rules of Kubernetes for names.
std::string namespace_of(const config::Value& value) {
  static const std::regex pattern("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  std::string text = value.text();
  if (!std::regex_match(text, pattern))
    throw value.error("'" + printable(text) + "' is not a namespace: a-z, 0-9 and '-'");
  return text;
}

KubernetesOptions kubernetes_of(const config::Value& value) {
  constexpr int kMostWorkers = 10'000, kMostGpus = 1'024;
  value.allow_only({"image", "context", "namespace", "workers", "gpus", "cpus", "memory"});
  KubernetesOptions options;
  if (const auto image = value.find("image")) options.image = one_word_of(*image);
  if (const auto context = value.find("context")) options.context = one_word_of(*context);
  if (const auto space = value.find("namespace")) options.name_space = namespace_of(*space);
  if (const auto workers = value.find("workers"))
    options.workers = workers->integer(1, kMostWorkers);
  if (const auto gpus = value.find("gpus")) options.gpus = gpus->integer(1, kMostGpus);
  if (const auto cpus = value.find("cpus")) options.cpus = quantity_of(*cpus);
  if (const auto memory = value.find("memory")) options.memory = quantity_of(*memory);
  return options;
}

/// Reads what starts a job again.
void read_restarts(const config::Value& root, JobFile& file) {
  if (const auto limit = root.find("hang_timeout"))
    file.hang_timeout = checked_duration(*limit, check_hang_timeout);
  if (const auto retry = root.find("retry")) file.retry = retry->integer(0, kMostRetries);
  if (const auto causes = root.find("retry_on"))
    for (const config::Value& cause : causes->list())
      file.retry_on.push_back(state::parse_end_cause(cause.choice(retry_cause_words())));
  if (const auto place = root.find("checkpoints")) file.checkpoints = node_path_of(*place);
}

/// Reads what follows the end of a job.
void read_ends(const config::Value& root, JobFile& file) {
  if (const auto paths = root.find("fetch"))
    for (const config::Value& path : paths->list())
      file.fetch.push_back(node_path_of(path));
  if (const auto place = root.find("fetch_to")) file.fetch_to = local_path_of(*place);
  if (const auto command = root.find("notify")) file.notify = command->text();
}

/// Reads when the job starts, and as how many jobs.
void read_turn(const config::Value& root, JobFile& file) {
  if (const auto priority = root.find("priority"))
    file.priority = priority->integer(-kMostPriority, kMostPriority);
  if (const auto after = root.find("after"))
    for (const config::Value& job : after->list())
      file.after.push_back(job.filled_text());
  if (const auto share = root.find("share")) file.share = share->boolean();
  if (const auto array = root.find("array"))
    file.array = array->parsed([](const std::string& text) {
      parse_array_range(text);
      return text;
    });
  if (const auto parameters = root.find("parameters")) file.parameters = local_path_of(*parameters);
}

}  // namespace

JobFile read_job_file(const config::Document& document) {
  const config::Value root = document.root();
  root.allow_only(
      {"name",           "cluster",     "np",          "npernode",   "per",          "env",
       "secrets",        "sync",        "workdir",     "command",    "timeout",      "grace",
       "keep_processes", "detach",      "engine",      "launcher",   "stdin",        "priority",
       "after",          "share",       "array",       "parameters", "hang_timeout", "retry",
       "retry_on",       "checkpoints", "fetch",       "fetch_to",   "notify",       "slurm",
       "kubernetes",     "on_full",     "environment", "mpi",        "nccl",         "keep_jobs"},
      {"no-environment", "check", "post-mortem", "host", "hostfile", "oversubscribe", "env-file",
       "dry-run"});
  JobFile file;
  if (const auto name = root.find("name"))
    file.name = name->parsed([](const std::string& text) { return parse_job_name(text).value; });
  if (const auto cluster = root.find("cluster"))
    file.cluster =
        cluster->parsed([](const std::string& text) { return parse_cluster_name(text).value; });
  if (const auto np = root.find("np")) file.np = np->integer(1, kMostRanks);
  if (const auto npernode = root.find("npernode")) file.npernode = npernode->integer(1, kMostSlots);
  if (const auto per = root.find("per")) file.per = per->choice(unit_words());
  read_variables(root, file);
  if (const auto secrets = root.find("secrets"))
    for (const config::Value& secret : secrets->list())
      file.secrets.push_back(secret_of(secret));
  if (const auto environment = root.find("environment"))
    file.environment = environment->parsed([](const std::string& text) {
      agent::check_environment_name(text);
      return text;
    });
  if (const auto sync = root.find("sync")) file.sync = local_path_of(*sync);
  if (const auto workdir = root.find("workdir")) file.workdir = node_path_of(*workdir);
  if (const auto command = root.find("command")) file.command = command_of(*command);
  if (const auto timeout = root.find("timeout"))
    file.timeout = checked_duration(*timeout, check_timeout);
  if (const auto grace = root.find("grace")) file.grace = checked_duration(*grace, check_grace);
  if (const auto keep = root.find("keep_processes")) file.keep_processes = keep->boolean();
  if (const auto full = root.find("on_full")) file.on_full = full->choice(full_disk_words());
  if (const auto keep = root.find("keep_jobs"))
    file.keep_jobs = keep->integer(0, config::kMostKeptJobs);
  if (const auto detach = root.find("detach")) file.detach = detach->boolean();
  if (const auto engine = root.find("engine")) file.engine = engine->choice(engine_words());
  if (const auto slurm = root.find("slurm")) file.slurm = slurm_of(*slurm);
  if (const auto kubernetes = root.find("kubernetes")) file.kubernetes = kubernetes_of(*kubernetes);
  read_turn(root, file);
  read_restarts(root, file);
  read_ends(root, file);
  if (const auto launcher = root.find("launcher"))
    file.launcher = launcher->choice(launcher_words());
  if (const auto input = root.find("stdin")) file.stdin_to = input->choice(input_words());
  return file;
}

}  // namespace fastgpu::launcher
