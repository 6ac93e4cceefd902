#include "launcher/engines/slurm_batch.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "base/quote.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::seconds;

class Script {
 public:
  void option(const std::string& name, const std::string& value) {
    if (!value.empty()) text_ += "#SBATCH --" + name + "=" + value + "\n";
  }
  void option(const std::string& name, std::optional<int> value) {
    if (value) option(name, std::to_string(*value));
  }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{"#!/bin/sh\n"};
};

/// Returns a time limit as "H:MM:SS".
std::string slurm_time(std::chrono::milliseconds limit) {
  const auto total = std::chrono::ceil<seconds>(limit).count();
  const auto two = [](auto number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + ":" + two(total % 60);
}

/// Returns the files of the script's own output, as Slurm shall open them. The job's directory is
/// not yet on a node with a home directory of its own: see make_directory().
std::string output_option(const std::string& directory, SlurmHome home, const char* name) {
  return home == SlurmHome::separate ? "/dev/null" : directory + "/" + name;
}

void add_options(Script& script, const std::string& job_id, const JobSpec& spec, SlurmHome home) {
  const std::string directory = job_directory(job_id);
  const SlurmOptions& slurm = spec.slurm;
  script.option("job-name", job_id);
  script.option("output", output_option(directory, home, "launcher.out"));
  script.option("error", output_option(directory, home, "launcher.err"));
  script.option("open-mode", "append");
  script.line("#SBATCH --no-requeue");
  script.line("#SBATCH --export=ALL");
  script.option("ntasks", slurm_ranks(spec));
  script.option("nodes", slurm.nodes);
  script.option("ntasks-per-node", spec.per_node);
  script.option("cpus-per-task", slurm.cpus);
  if (slurm.gpus)
    script.option("gres", "gpu:" + (slurm.gpu_type.empty() ? "" : slurm.gpu_type + ":") +
                              std::to_string(*slurm.gpus));
  script.option("mem", slurm.memory);
  script.option("mem-per-cpu", slurm.memory_per_cpu);
  if (spec.timeout.count() > 0) script.option("time", slurm_time(spec.timeout));
  script.option("partition", slurm.partition);
  script.option("account", slurm.account);
  script.option("qos", slurm.qos);
  script.option("constraint", slurm.constraint);
  script.option("reservation", slurm.reservation);
  script.option("nodelist", slurm.nodelist);
  script.option("exclude", slurm.exclude);
  if (slurm.exclusive) script.line("#SBATCH --exclusive");
}

/// Names the ports of the job, which are free on the first node, and chooses the plugin of Slurm
/// through which a program of MPI learns its place. Without one, each rank aborts in MPI_Init where
/// the site has chosen none for all jobs. Other programs start sooner without a plugin.
void add_start(Script& script, const SlurmOptions& slurm, SlurmHome home,
               const std::string& start_command) {
  script.line("unset MASTER_PORT FASTGPU_COMM_MASTER_PORT uses_mpi");
  if (home == SlurmHome::shared)
    script.line("eval \"$(" + start_command + ")\"");
  else
    script.line("eval \"$({ " + start_command + "; } < \"$0\")\"");
  script.line(R"(if [ -n "$MASTER_PORT" ]; then export MASTER_PORT FASTGPU_COMM_MASTER_PORT; fi)");
  if (!slurm.mpi.empty()) return;
  script.line(R"(if [ -n "$uses_mpi" ] && [ -z "$SLURM_MPI_TYPE" ] &&)");
  script.line(R"(  scontrol show config | grep -q '^MpiDefault *= *none'; then)");
  script.line(R"(  case $(srun --mpi=list 2>&1) in)");
  script.line(R"(    *pmix*) export SLURM_MPI_TYPE=pmix ;;)");
  script.line(R"(    *pmi2*) export SLURM_MPI_TYPE=pmi2 ;;)");
  script.line(
      "    *) echo \"fastgpu: the program uses MPI, and Slurm on $(hostname) has no plugin for it: "
      "install pmix, or name another with slurm.mpi\" >&2 ;;");
  script.line("  esac");
  script.line("fi");
}

void add_variables(Script& script, const SlurmOptions& slurm, SlurmHome home) {
  script.line(
      home == SlurmHome::shared
          ? R"(hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST") || exit 1)"
          : R"(hosts=$(for word in $(scontrol --oneliner show node "$SLURM_JOB_NODELIST"); )"
            R"(do case $word in NodeAddr=*) echo "${word#NodeAddr=}" ;; esac; done))");
  script.line("MASTER_ADDR=${hosts%%[!a-zA-Z0-9._-]*}");
  script.line("FASTGPU_COMM_MASTER_ADDR=$MASTER_ADDR");
  script.line("FASTGPU_NUM_NODES=$SLURM_JOB_NUM_NODES");
  script.line("FASTGPU_NODE_IPS=$hosts");
  script.line("OMP_NUM_THREADS=" + std::to_string(slurm.cpus.value_or(1)));
  script.line(
      "export MASTER_ADDR FASTGPU_COMM_MASTER_ADDR FASTGPU_NUM_NODES FASTGPU_NODE_IPS "
      "OMP_NUM_THREADS");
}

/// Returns the program of each task: it names the node's place, and becomes the rank.
std::string task_script(const JobSpec& spec, const std::string& rank_command) {
  std::string script = "cd \"$HOME\" || exit 1\n";
  script += "export NODE_RANK=$SLURM_NODEID GROUP_RANK=$SLURM_NODEID";
  script += " FASTGPU_NODE_RANK=$SLURM_NODEID";
  if (spec.per_node) script += " LOCAL_WORLD_SIZE=" + std::to_string(*spec.per_node);
  return script + "\n" + rank_command;
}

/// Ends the ranks at the time that was asked for: Slurm's own limit is in whole minutes, and is not
/// looked at more often than every half a minute.
void start_timer(Script& script, const std::string& mark, std::chrono::milliseconds limit) {
  const auto total = std::chrono::ceil<seconds>(limit).count();
  script.line("(sleep " + std::to_string(total) + " & sleeps=$!");
  script.line(R"(trap 'kill "$sleeps"; exit 0' TERM)");
  script.line("wait \"$sleeps\"");
  script.line(": > " + mark);
  script.line(R"(scancel --signal=TERM "$SLURM_JOB_ID.0") &)");
  script.line("timer=$!");
}

/// Stops the timer. If it has ended the ranks, the script ends by a signal that says so.
void stop_timer(Script& script, const std::string& mark) {
  script.line("kill \"$timer\" 2> /dev/null");
  script.line("if [ -e " + mark + " ]; then kill -s XCPU $$; fi");
}

/// Returns the record of a success, as a format of printf with the places of the time and of the
/// nodes.
std::string record_of_success() {
  std::string format;
  for (const char c : to_text(agent::JobEnd{.host = "%s", .reason = {}}))
    format += c == '\0' ? "\\0" : std::string(1, c);
  constexpr std::string_view kNoTime = "ended=0";
  return format.replace(format.find(kNoTime), kNoTime.size(), "ended=%s");
}

/// Records a success, and removes the secrets beside the record. The cause of another end is what
/// Slurm reports.
void end_well(Script& script, const std::string& directory, SlurmHome home) {
  script.line("if [ \"$code\" = 0 ]; then");
  if (home == SlurmHome::shared)  // Elsewhere the last rank of each node has removed them.
    script.line("  rm -f " + directory + "/" + agent::kVariables + " " + directory + "/" +
                agent::kCommSecret);
  script.line("  printf '" + record_of_success() +
              "' \"$(date +%s%N)\" \"$SLURM_JOB_NODELIST\" > " + directory + "/status.batch");
  script.line("  mv " + directory + "/status.batch " + directory + "/status");
  script.line("fi");
}

/// Ends a run that Slurm has started after it had put the job back into its queue, as an
/// administrator or a filter of the site may make it do in spite of --no-requeue. The ends of the
/// first run's ranks are on record, and the secrets are gone.
void refuse_restart(Script& script) {
  script.line("if [ \"${SLURM_RESTART_COUNT:-0}\" -gt 0 ]; then");
  script.line(
      "  echo \"fastgpu: Slurm has started the job again ($SLURM_RESTART_COUNT), which runs once\" "
      ">&2");
  script.line("  exit 1");
  script.line("fi");
}

/// Makes the job's directory on a node with a home directory of its own, for the script's output.
void make_directory(Script& script, const std::string& directory) {
  script.line("(umask 077; mkdir -p " + directory + ") && exec >> " + directory +
              "/launcher.out 2>> " + directory + "/launcher.err || exit 1");
}

/// Names the nodes of the job to those that follow it.
void name_nodes(Script& script, const std::string& directory) {
  script.line("echo \"" + std::string(agent::kNewsOfNodes) + "$SLURM_JOB_NODELIST\" > " +
              directory + "/" + agent::kBatchNews);
}

}  // namespace

std::string slurm_batch_script(const std::string& job_id, const JobSpec& spec,
                               const std::string& rank_command, SlurmHome home,
                               const std::string& comment, const std::string& start_command) {
  Script script;
  add_options(script, job_id, spec, home);
  script.option("comment", comment);
  script.line("cd \"$HOME\" || exit 1");
  if (home == SlurmHome::separate) make_directory(script, job_directory(job_id));
  name_nodes(script, job_directory(job_id));
  refuse_restart(script);
  add_variables(script, spec.slurm, home);
  if (!start_command.empty()) add_start(script, spec.slurm, home, start_command);
  std::vector<std::string> srun = {"srun", "--kill-on-bad-exit=1", "--export=ALL"};
  if (!spec.slurm.mpi.empty()) srun.push_back("--mpi=" + spec.slurm.mpi);
  if (spec.slurm.cpus) srun.push_back("--cpus-per-task=" + std::to_string(*spec.slurm.cpus));
  srun.insert(srun.end(), {"/bin/sh", "-c", task_script(spec, rank_command)});
  const std::string mark = job_directory(job_id) + "/timed-out";
  const bool has_timer = spec.timeout.count() > 0;
  if (has_timer) start_timer(script, mark, spec.timeout);
  std::string step = shell_join(srun);
  // The script carries the files of the ranks. They write nothing but their news.
  if (home == SlurmHome::separate)
    step += " < \"$0\" >> " + job_directory(job_id) + "/" + agent::kBatchNews;
  script.line(step);
  script.line("code=$?");
  if (has_timer) stop_timer(script, mark);
  script.line("echo \"$code $SLURM_JOB_NODELIST\" > " + job_directory(job_id) + "/" +
              agent::kBatchEnd);
  end_well(script, job_directory(job_id), home);
  script.line("exit \"$code\"");
  return script.take();
}

std::vector<std::string> slurm_rank_variables(const JobSpec& spec) {
  std::vector<std::string> variables;
  const bool is_set = std::ranges::any_of(spec.environment, [](const std::string& assignment) {
    return assignment.starts_with("PYTHONUNBUFFERED=");
  });
  if (!is_set) variables.emplace_back("PYTHONUNBUFFERED=1");
  variables.insert(variables.end(), spec.environment.begin(), spec.environment.end());
  return variables;
}

}  // namespace fastgpu::launcher
