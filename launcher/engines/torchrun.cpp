#include "launcher/engines/torchrun.hpp"

#include <algorithm>

#include "agent/protocol/environment.hpp"
#include "process/command.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kTorchrun = "torchrun";
constexpr const char* kByPath = R"(exec torchrun "$@")";
constexpr const char* kByPython = R"(exec "$0" -m torch.distributed.run "$@")";
constexpr std::size_t kShellWords = 3;  ///< The number of words of "sh -c SCRIPT".

/// The ports are only known when the job starts.
constexpr const char* kEndpoint = "PET_RDZV_ENDPOINT=$MASTER_ADDR:$MASTER_PORT ";
constexpr const char* kPort = "PET_MASTER_PORT=$MASTER_PORT ";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Returns true for "python", "python3" and "/usr/bin/python3.11".
bool is_python(const std::string& program) {
  const std::string name = file_name(program);
  return name.starts_with("python") &&
         name.find_first_not_of("0123456789.", std::string("python").size()) == std::string::npos;
}

/// Returns true for an interpreter that is another one than that of the torchrun in PATH may be.
bool is_named(const std::string& python) {
  return python != "python" && python != "python3";
}

bool is_given(const JobSpec& spec, const char* name) {
  return process::variable(spec.environment, name).has_value();
}

/// Returns true for a job whose torchruns meet at a store of their own. They find it only by
/// variables that are ours: each would make one for itself, and wait for the others.
bool meets_by_c10d(const JobSpec& spec) {
  return process::variable(spec.environment, "PET_RDZV_BACKEND") == "c10d";
}

}  // namespace

JobRecord with_torchrun(JobRecord job) {
  job.spec.argv = torchrun_argv(job.spec);
  job.placement = torchrun_placement(std::move(job.placement));
  return job;
}

std::vector<NodeRanks> torchrun_placement(std::vector<NodeRanks> placement) {
  for (std::size_t i = 0; i < placement.size(); ++i) {
    NodeRanks& node = placement[i];
    node.workers = node.count;
    node.first = static_cast<int>(i);
    node.count = 1;
  }
  return placement;
}

std::vector<std::string> torchrun_argv(const JobSpec& spec) {
  const std::vector<std::string>& program = spec.argv;
  auto rest = program.begin();
  const bool has_python = rest != program.end() && is_python(*rest);
  std::string script;
  if (meets_by_c10d(spec) && !is_given(spec, "PET_RDZV_ENDPOINT")) script += kEndpoint;
  script += kPort;
  std::vector<std::string> argv = {"sh", "-c"};
  if (has_python && is_named(*rest)) {
    argv.push_back(script + kByPython);
    argv.push_back(*rest);
  } else {
    argv.push_back(script + kByPath);
    argv.emplace_back(kTorchrun);
  }
  if (has_python) ++rest;
  // torchrun runs Python without buffers.
  while (has_python && rest != program.end() && *rest == "-u")
    ++rest;
  const bool is_script = has_python || (rest != program.end() && rest->ends_with(".py"));
  if (!is_script) argv.emplace_back("--no_python");  // --no-python is not in PyTorch 1.
  argv.insert(argv.end(), rest, program.end());
  return argv;
}

std::span<const std::string> torchrun_words(std::span<const std::string> argv) {
  const bool has_runner = !argv.empty() && !agent::environment_of_runner(argv.front()).empty();
  if (has_runner) argv = argv.subspan(1);
  if (argv.size() <= kShellWords || argv[0] != "sh" || argv[1] != "-c") return {};
  const std::string& script = argv[2];
  const bool is_ours = script.find(kPort) != script.npos &&
                       (script.ends_with(kByPath) || script.ends_with(kByPython));
  return is_ours ? argv.subspan(kShellWords) : std::span<const std::string>();
}

std::string torchrun_python(const std::vector<std::string>& argv) {
  const auto words = torchrun_words(argv);
  return words.empty() || words.front() == kTorchrun ? "" : words.front();
}

std::vector<std::string> torchrun_variables(const JobFilesRequest& request, std::size_t place) {
  const JobNode& node = request.nodes[place];
  std::vector<std::string> variables = {"PET_NNODES=" + std::to_string(request.nodes.size()),
                                        "PET_NPROC_PER_NODE=" + std::to_string(node.ranks.workers),
                                        "PET_NODE_RANK=" + std::to_string(place),
                                        "PET_MASTER_ADDR=" + request.nodes.front().peer.address,
                                        "PET_RDZV_ID=" + request.id};
  if (!meets_by_c10d(request.spec)) return variables;
  // The store of the workers would be that of the torchruns, with a key for each attempt. These
  // count differently on each node, so that no second attempt would meet.
  constexpr const char* kOwnStore = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";
  if (!is_given(request.spec, kOwnStore)) variables.push_back(std::string(kOwnStore) + "=1");
  // torchrun would compare the address with what the names of this machine resolve to, and would
  // give others a name that only this machine may know.
  variables.push_back("PET_LOCAL_ADDR=" + node.peer.address);
  if (!is_given(request.spec, "PET_RDZV_ENDPOINT"))
    variables.push_back(std::string("PET_RDZV_CONF=is_host=") + (place == 0 ? "1" : "0"));
  return variables;
}

}  // namespace fastgpu::launcher
