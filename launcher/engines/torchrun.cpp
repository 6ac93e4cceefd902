#include "launcher/engines/torchrun.hpp"

#include <algorithm>

namespace fastgpu::launcher {
namespace {

/// The port is only known when the job starts.
constexpr const char* kWithPort = "PET_MASTER_PORT=$MASTER_PORT exec torchrun \"$@\"";

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Returns true for "python", "python3" and "/usr/bin/python3.11".
bool is_python(const std::string& program) {
  const std::string name = file_name(program);
  return name.starts_with("python") &&
         name.find_first_not_of("0123456789.", std::string("python").size()) == std::string::npos;
}

}  // namespace

JobRecord with_torchrun(JobRecord job) {
  job.spec.argv = torchrun_argv(job.spec.argv);
  for (std::size_t i = 0; i < job.placement.size(); ++i) {
    NodeRanks& node = job.placement[i];
    node.workers = node.count;
    node.first = static_cast<int>(i);
    node.count = 1;
  }
  return job;
}

std::vector<std::string> torchrun_argv(const std::vector<std::string>& program) {
  std::vector<std::string> argv = {"sh", "-c", kWithPort, "torchrun"};
  auto rest = program.begin();
  const bool has_python = rest != program.end() && is_python(*rest);
  if (has_python) ++rest;
  // torchrun runs Python without buffers.
  while (has_python && rest != program.end() && *rest == "-u")
    ++rest;
  const bool is_script = has_python || (rest != program.end() && rest->ends_with(".py"));
  if (!is_script) argv.emplace_back("--no-python");
  argv.insert(argv.end(), rest, program.end());
  return argv;
}

std::vector<std::string> torchrun_variables(const JobFilesRequest& request, std::size_t place) {
  return {"PET_NNODES=" + std::to_string(request.nodes.size()),
          "PET_NPROC_PER_NODE=" + std::to_string(request.nodes[place].ranks.workers),
          "PET_NODE_RANK=" + std::to_string(place),
          "PET_MASTER_ADDR=" + request.nodes.front().peer.address};
}

}  // namespace fastgpu::launcher
