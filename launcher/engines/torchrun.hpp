// PyTorch's torchrun: one on each node of a job, which starts the workers there. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "launcher/job_files_request.hpp"

namespace fastgpu::launcher {

/// Returns the job with one process on each node, torchrun, that starts as many workers as the node
/// had ranks.
JobRecord with_torchrun(JobRecord job);

/// Returns the placement of that job.
std::vector<NodeRanks> torchrun_placement(std::vector<NodeRanks> placement);

/// Returns the command of torchrun for the program of a job: `python train.py`, `train.py` and
/// `python -m pkg` are modules or scripts, anything else is a program. An interpreter that the user
/// names, `/opt/p/bin/python` or `python3.11`, runs torchrun itself; `python` and `python3` leave
/// the choice to the torchrun in PATH. The port is that of the job.
std::vector<std::string> torchrun_argv(const JobSpec& spec);

/// Returns the words of a command of torchrun_argv() from torchrun, or the interpreter that runs
/// it, on; empty for any other command. The command may run in an environment. Refers to `argv`.
std::span<const std::string> torchrun_words(std::span<const std::string> argv);

/// Returns the interpreter that runs torchrun in a command of torchrun_argv(), which may run in an
/// environment; empty if the torchrun in PATH does.
std::string torchrun_python(const std::vector<std::string>& argv);

/// Returns torchrun's flags as the variables that it reads: "PET_NNODES=2".
std::vector<std::string> torchrun_variables(const JobFilesRequest& request, std::size_t place);

}  // namespace fastgpu::launcher
