#include "cli/commands/job/job_request.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/job/asked_features.hpp"
#include "cli/commands/job/own_command.hpp"
#include "config/document.hpp"
#include "launcher/engine_features.hpp"
#include "process/command.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Returns a job's name made from its program: "train-py" for "./train.py".
std::string name_from(const std::string& program) {
  std::string out;
  for (const char c : program.substr(program.rfind('/') + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (is_ascii_digit(c) && !out.empty());
    if (plain)
      out += c;
    else if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out = out.substr(0, 30);
  while (out.ends_with('-'))
    out.pop_back();
  return out.empty() ? "job" : out;
}

/// Throws if the directory of --sync cannot be opened, before anything is done on a node.
void check_sync(const std::string& path) {
  if (path.empty()) return;
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) return;
  const std::string what = "run job: --sync " + printable(path);
  if (errno == ENOTDIR) throw Error(ErrorKind::usage, what + " is not a directory");
  if (errno == ENOENT) throw Error(ErrorKind::not_found, what + " does not exist");
  throw system_error(what, errno);
}

/// Returns the meaning of --on-full; of no word, that programs get the errors of their writes.
launcher::FullDisk full_disk_of(std::string_view word) {
  if (word == "continue") return launcher::FullDisk::drops;
  return word == "stop" ? launcher::FullDisk::stops : launcher::FullDisk::fails;
}

/// Returns the time limit of the job; 0 for none.
std::chrono::milliseconds timeout_of(const RunJobOptions& options,
                                     const launcher::JobFile& file) try {
  const auto timeout = options.timeout ? options.timeout : file.timeout;
  if (timeout) launcher::check_timeout(*timeout);
  return timeout.value_or(std::chrono::milliseconds(0));
} catch (const Error& e) {
  throw e.during("run job");
}

/// Returns the variables for the ranks. For a bare NAME that is not set, the error mentions
/// --environment, because NAME may be meant as an environment.
std::vector<std::string> own_variables(const RunJobOptions& options,
                                       const state::Environment& ours) try {
  VariableFlags flags = options.variables;
  flags.given.insert(flags.given.end(), options.exported.begin(), options.exported.end());
  return variables_of(flags, ours);
} catch (const Error& e) {
  for (const std::string& text : options.variables.given) {
    const bool is_unset = text.find('=') == std::string::npos && !ours(text.c_str());
    if (is_unset)
      throw Error(e.kind(), std::string(e.what()) +
                                "; to choose an environment of the cluster use --environment " +
                                printable(text));
  }
  throw;
}

}  // namespace

std::string job_file_text(Context& context, const RunJobOptions& options) {
  if (options.file.empty()) return {};
  if (context.environment()(kInArray)) return config::read_all(STDIN_FILENO, options.file);
  return config::read_text(options.file);
}

launcher::JobFile job_file_of(const RunJobOptions& options, const std::string& text) {
  config::Document document;
  if (!options.file.empty()) document = config::Document::of_file(text, options.file);
  for (const std::string& assignment : options.set)
    document.set(assignment);
  return launcher::read_job_file(document);
}

std::vector<std::string> secrets_of(const RunJobOptions& options, const launcher::JobFile& file,
                                    const state::Environment& ours) {
  std::vector<std::string> variables;
  for (const launcher::JobSecret& secret : file.secrets) {
    if (secret.file.empty() && !ours(secret.name.c_str()))
      throw Error(ErrorKind::usage,
                  secret.place + ": the variable " + secret.name +
                      " is not set on this machine: set it, or name a file: {name: " + secret.name +
                      ", file: FILE}");
    const std::string from = secret.file.empty() ? "" : "=@" + secret.file;
    process::set_variable(variables, secret_variable(secret.name + from, ours, secret.place));
  }
  for (const std::string& text : options.secrets)
    process::set_variable(variables, secret_variable(text, ours));
  return variables;
}

std::string wanted_environment(const RunJobOptions& options, const launcher::JobFile& file,
                               const std::string& active) {
  if (options.no_environment) return {};
  if (!options.environment.empty()) return options.environment;
  return file.environment.value_or(active);
}

launcher::JobSpec requested_spec(const RunJobOptions& options, const launcher::JobFile& file,
                                 const std::vector<std::string>& secrets,
                                 const state::Environment& ours) {
  const std::vector<std::string> variables = own_variables(options, ours);
  launcher::JobSpec spec;
  spec.argv = options.program.empty() ? file.command : options.program;
  if (spec.argv.empty() || spec.argv[0].empty())
    throw Error(
        ErrorKind::usage,
        "run job: the program is missing: put it after --, or write it in the file as 'command'");
  const std::string name =
      options.name.empty() ? file.name.value_or(name_from(spec.argv[0])) : options.name;
  spec.name = parse_job_name(name);
  spec.ranks = options.ranks ? options.ranks : file.np;
  spec.per_node = options.per_node ? options.per_node : file.npernode;
  spec.per = state::parse_rank_unit(options.per.empty() ? file.per.value_or("none") : options.per);
  for (const auto& [key, value] : file.env)
    spec.environment.push_back(key + "=" + value);
  for (const std::string& assignment : variables)
    process::set_variable(spec.environment, assignment);
  for (const std::string& assignment : secrets) {
    process::set_variable(spec.environment, assignment);
    spec.secrets.push_back(assignment.substr(0, assignment.find('=')));
  }
  spec.launcher = state::parse_launcher(options.launcher.empty() ? file.launcher.value_or("mpirun")
                                                                 : options.launcher);
  spec.sync = options.sync.empty() ? file.sync.value_or("") : options.sync;
  if (const auto place = options.directory ? options.directory : file.workdir)
    spec.directory = place->value;
  spec.timeout = timeout_of(options, file);
  if (options.detach || file.detach.value_or(false)) spec.presence = launcher::Presence::detached;
  if (const auto grace = options.grace ? options.grace : file.grace) spec.grace = *grace;
  if (options.keep_processes || file.keep_processes.value_or(false))
    spec.leftovers = launcher::Leftovers::kept;
  spec.on_full =
      full_disk_of(options.on_full.empty() ? file.on_full.value_or("") : options.on_full);
  spec.keep_jobs = options.keep_jobs ? options.keep_jobs : file.keep_jobs;
  if (options.share || file.share.value_or(false)) spec.sharing = launcher::Sharing::shared;
  spec.priority = options.priority ? *options.priority : file.priority.value_or(0);
  if (options.oversubscribe) spec.crowding = launcher::Crowding::allowed;
  set_recovery(spec, options.recovery, file);
  spec.engine =
      state::parse_engine(options.engine.empty() ? file.engine.value_or("mpirun") : options.engine);
  spec.slurm = file.slurm.value_or(launcher::SlurmOptions{});
  spec.kubernetes = file.kubernetes.value_or(launcher::KubernetesOptions{});
  launcher::check_features(spec.engine, asked_features(options, file));
  launcher::validate(spec);
  check_sync(spec.sync);
  return spec;
}

}  // namespace fastgpu::cli
