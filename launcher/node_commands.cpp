#include "launcher/node_commands.hpp"

#include "agent/protocol/records.hpp"
#include "agent/protocol/silence.hpp"
#include "base/join.hpp"
#include "launcher/engines/slurm_batch.hpp"
#include "launcher/engines/torchrun.hpp"
#include "process/command.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns true for an interpreter that a node finds, and its modules, as the job will: neither
/// depends on the working directory or on variables of Python.
bool can_be_checked(const std::string& python, const JobSpec& spec) {
  const bool is_relative = !python.starts_with('/') && python.find('/') != python.npos;
  return !is_relative && !process::variable(spec.environment, "PYTHONPATH");
}

/// Lets the node look for torchrun, if the job is started by it: in the PATH that the job sets or
/// in its own, or among the modules of the interpreter that the user names.
void append_torchrun(std::vector<std::string>& words, const JobSpec& spec) {
  if (spec.launcher != Launcher::torchrun) return;
  const std::string python = torchrun_python(spec.argv);
  if (!python.empty() && !can_be_checked(python, spec)) return;
  words.insert(words.end(),
               {"--torchrun-path", process::variable(spec.environment, "PATH").value_or("")});
  if (!python.empty()) words.insert(words.end(), {"--torchrun-python", python});
}

/// Returns true if each rank looks for the program, which has no slash, in the PATH of a login to
/// its node.
bool is_in_path_of_login(const JobSpec& spec) {
  return spec.launcher != Launcher::torchrun && spec.argv.front().find('/') == std::string::npos &&
         !spec.used_environment && !process::variable(spec.environment, "PATH");
}

std::string tidy_word(const Retention& retention) {
  return std::to_string(retention.count) + ":" + std::to_string(retention.age.count());
}

}  // namespace

NodeCommands::NodeCommands(remote::AgentHash agent, std::string job_id)
    : agent_(std::move(agent)), job_id_(std::move(job_id)) {}

std::string NodeCommands::call(std::vector<std::string> words) const {
  return remote::agent_command(agent_, words);
}

std::string NodeCommands::put_files_and_facts(const std::string& mpirun_in,
                                              const Retention& retention) const {
  return call(put_words(mpirun_in, retention));
}

std::string NodeCommands::put_new_files_and_facts(const JobSpec& spec, const Retention& retention,
                                                  agent::FolderPlace place) const {
  std::vector<std::string> words = put_words(spec.mpirun_in, retention);
  append_torchrun(words, spec);
  words.insert(words.end(), {"--new-job", job_directory(job_id_)});
  if (place == agent::FolderPlace::own_disk) words.emplace_back("--own-disk");
  return call(std::move(words));
}

std::string NodeCommands::put_files(const Retention& retention) const {
  return call({"put-files", ".fastgpu", "--tidy", tidy_word(retention)});
}

std::vector<std::string> NodeCommands::put_words(const std::string& mpirun_in,
                                                 const Retention& retention) const {
  std::vector<std::string> words = {"put-files", ".fastgpu", "--facts"};
  if (!mpirun_in.empty()) words.insert(words.end(), {"--mpirun-in", mpirun_in});
  words.insert(words.end(), {"--tidy", tidy_word(retention)});
  return words;
}

std::string NodeCommands::trial_facts(const JobSpec& spec) const {
  std::vector<std::string> words = {"facts", "--mpirun"};
  if (!spec.mpirun_in.empty()) words.insert(words.end(), {"--mpirun-in", spec.mpirun_in});
  append_torchrun(words, spec);
  const bool is_made_by_us = spec.directory.empty() && !spec.sync.empty();
  if (!is_made_by_us)
    words.insert(words.end(), {"--workdir", spec.directory, "--program", spec.argv.front()});
  if (is_in_path_of_login(spec)) words.insert(words.end(), {"--in-path", spec.argv.front()});
  return call(std::move(words));
}

std::string NodeCommands::put_files_and_start(const std::vector<std::string>& reach_words) const {
  std::vector<std::string> words = {"put-files", ".fastgpu", "--start", job_directory(job_id_)};
  if (!reach_words.empty()) words.emplace_back("--reach");
  words.insert(words.end(), reach_words.begin(), reach_words.end());
  return call(std::move(words));
}

std::string NodeCommands::reach(const std::vector<std::string>& reach_words) const {
  std::vector<std::string> words = {"reach-nodes"};
  words.insert(words.end(), reach_words.begin(), reach_words.end());
  return call(std::move(words));
}

std::string NodeCommands::follow(const Follow& what) const {
  std::vector<std::string> words = {"job-follow", job_directory(job_id_)};
  if (what.ranks) {
    std::string list;
    for (const int rank : *what.ranks)
      append_item(list, std::to_string(rank), ",");
    words.insert(words.end(), {"--ranks", list});
  }
  if (what.tail)
    words.insert(words.end(), {what.tail->of == agent::TailOf::rank ? "--tail" : "--tail-of-log",
                               std::to_string(what.tail->lines)});
  if (what.since) words.insert(words.end(), {"--since", std::to_string(what.since->count())});
  if (what.times) words.push_back("--times");
  if (!what.wait) words.push_back("--no-follow");
  if (!what.data) words.push_back("--no-data");
  if (what.renew_lease) words.push_back("--renew-lease");
  if (what.begun) words.push_back("--begun");
  if (what.beats) {
    const std::chrono::milliseconds silence = agent::kClientSilence;
    words.insert(words.end(), {"--beats", std::to_string(silence.count())});
  }
  if (what.continues) words.push_back("--from-input");
  return call(std::move(words));
}

std::string NodeCommands::offsets(const std::map<std::string, std::uint64_t>& from) {
  agent::Records records;
  for (const auto& [log, offset] : from)
    records.add(log, static_cast<std::int64_t>(offset));
  return records.text() + '\0';  // An empty record ends them.
}

std::string NodeCommands::input() const {
  return call({"job-input", job_directory(job_id_)});
}

std::string NodeCommands::stop() const {
  return call({"job-stop", job_directory(job_id_)});
}

std::string NodeCommands::sweep() const {
  return call({"job-sweep", job_id_});
}

std::string NodeCommands::remove() const {
  return call({"job-remove", job_directory(job_id_)});
}

std::string NodeCommands::show() const {
  return call({"job-show", job_id_});
}

std::string NodeCommands::stacks() const {
  return call({"job-stacks", job_directory(job_id_)});
}

std::vector<std::string> NodeCommands::remote_shell() const {
  return {"env", remote::agent_path(agent_), "start-daemon"};
}

std::vector<std::string> NodeCommands::launch(const std::string& ssh_config,
                                              const std::vector<std::string>& pass) const {
  const std::string directory = job_directory(job_id_);
  std::vector<std::string> words = {"launch", directory, call({"node-ranks", directory})};
  if (!ssh_config.empty()) words.insert(words.end(), {"--ssh-config", ssh_config});
  for (const std::string& name : pass)
    words.insert(words.end(), {"--pass", name});
  return {"/bin/sh", "-c", call(std::move(words))};
}

std::string NodeCommands::slurm_start(SlurmHome home) const {
  std::vector<std::string> words = {"slurm-start", job_directory(job_id_)};
  if (home == SlurmHome::separate) words.emplace_back("--own-home");
  return call(std::move(words));
}

std::string NodeCommands::slurm_rank(SlurmHome home, const Retention& retention) const {
  std::vector<std::string> words = {"rank", job_directory(job_id_)};
  if (home == SlurmHome::separate) words.insert(words.end(), {"--own-home", tidy_word(retention)});
  return call(std::move(words));
}

std::vector<std::string> NodeCommands::rank() const {
  return {"/bin/sh", "-c", call({"rank", job_directory(job_id_)})};
}

}  // namespace fastgpu::launcher
