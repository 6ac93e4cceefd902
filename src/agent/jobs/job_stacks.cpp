// `job-stacks`: prints the stacks of a job's ranks on this node, and keeps them in the job's
// folder.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/jobs/idle_watch.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/unique_fd.hpp"
#include "process/capture.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kOneProcess{10};
constexpr std::chrono::seconds kAllProcesses{40};
/// Stacks of this age are those of the same hang, for another command that follows the job.
constexpr std::chrono::seconds kRecent{30};
constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostOfRank = 4;  ///< Processes.
constexpr std::size_t kMostOfProcess = 16'384;
constexpr std::size_t kLongestWords = 120;

struct RunningRank {
  int rank = 0;
  pid_t program = 0;
};

/// Returns the ranks that run here, sorted.
std::vector<RunningRank> ranks_that_run(const fs::path& directory) {
  std::vector<RunningRank> ranks;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory / "ranks", none)) {
    if (entry.path().extension() != ".pid") continue;
    const std::string text = read_file(entry.path()).value_or("");
    const std::string name = entry.path().stem();
    RunningRank rank;
    std::from_chars(name.data(), name.data() + name.size(), rank.rank);
    std::from_chars(text.data(), text.data() + text.size(), rank.program);
    if (rank.program > 0) ranks.push_back(rank);
  }
  std::ranges::sort(ranks, {}, &RunningRank::rank);
  return ranks;
}

/// Returns the program and its arguments, with blanks between them.
std::string words_of_process(pid_t pid) {
  std::string line = proc_file(pid, "cmdline");
  while (line.ends_with('\0'))
    line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  return printable(line, kLongestWords);
}

/// Returns the path of a tool in the PATH of the process, and else in ours; empty if there is none.
std::string tool_for(pid_t pid, const std::string& name) {
  std::vector<std::string> paths;
  std::istringstream variables(proc_file(pid, "environ"));
  for (std::string variable; std::getline(variables, variable, '\0');)
    if (variable.starts_with("PATH=")) paths.push_back(variable.substr(5));
  paths.emplace_back("/usr/local/bin:/usr/bin:/bin");
  for (const std::string& path : paths) {
    try {
      return process::find_program(name, path).string();
    } catch (const Error&) {
      continue;
    }
  }
  return {};
}

bool is_python_process(pid_t pid) {
  std::error_code none;
  const fs::path program =
      fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", none).filename();
  return program.string().starts_with("python");
}

/// Returns what a tool prints; empty if it fails or takes too long.
std::string output_of_tool(const std::vector<std::string>& argv) {
  process::Command command{.argv = argv};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, "DEBUGINFOD_URLS=");  // It would fetch files.
  const Cancel never;
  try {
    const auto done = process::capture(
        command, {.limit = Bytes{kMostOfProcess * 8}, .timeout = kOneProcess}, never);
    return done.status.ok() ? done.out : "";
  } catch (const Error&) {
    return {};
  }
}

/// Returns the lines of gdb that are of a stack.
std::string stack_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("Thread ") || line.starts_with("#")) kept += line + "\n";
  return kept;
}

/// Returns the place in the kernel where each thread waits.
std::string kernel_places(pid_t pid) {
  const fs::path tasks = "/proc/" + std::to_string(pid) + "/task";
  std::string text;
  std::error_code none;
  for (const auto& task : fs::directory_iterator(tasks, none)) {
    const auto line_of = [&](const char* name) {
      std::ifstream in(task.path() / name);
      std::string line;
      std::getline(in, line);
      return line;
    };
    const std::string place = line_of("wchan");
    text += "thread " + task.path().filename().string() + " (" + line_of("comm") +
            "): " + (place.empty() || place == "0" ? "running, or its place is not shown" : place) +
            "\n";
  }
  return text;
}

std::string stack_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  if (is_python_process(pid))
    if (const std::string spy = tool_for(pid, "py-spy"); !spy.empty())
      if (std::string text = output_of_tool({spy, "dump", "--pid", number}); !text.empty())
        return text;
  if (const std::string gdb = tool_for(pid, "gdb"); !gdb.empty()) {
    std::string text =
        stack_lines(output_of_tool({gdb, "-p", number, "-batch", "-nx", "-ex", "set pagination off",
                                    "-ex", "thread apply all backtrace 30"}));
    if (!text.empty()) return text;
  }
  return kernel_places(pid);
}

std::string indented(const std::string& text) {
  std::istringstream lines(text.substr(0, kMostOfProcess));
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += "    " + line + "\n";
  if (text.size() > kMostOfProcess) out += "    ...\n";
  return out;
}

/// Returns the stacks of the ranks, within the limits on time and size.
std::string stacks_in(const fs::path& directory) {
  const auto deadline = SteadyClock::now() + kAllProcesses;
  const auto ranks = ranks_that_run(directory);
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i) {
    auto family = family_of(ranks[i].program);
    if (family.size() > kMostOfRank) family.resize(kMostOfRank);
    for (const pid_t pid : family) {
      text += "rank " + std::to_string(ranks[i].rank) + ", process " + std::to_string(pid) + ": " +
              words_of_process(pid) + "\n";
      text += SteadyClock::now() < deadline ? indented(stack_of(pid)) : "    (no time left)\n";
    }
  }
  if (ranks.size() > kMostRanks)
    text += "and " + std::to_string(ranks.size() - kMostRanks) + " more ranks\n";
  return text;
}

/// Waits until no other process collects the stacks of the job: two debuggers cannot stop one
/// process. The turn ends with the descriptor.
UniqueFd take_turn(const fs::path& directory) {
  UniqueFd file(
      ::open((directory / "stacks.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (file && ::flock(file.get(), LOCK_EX) != 0 && errno == EINTR)
    continue;
  return file;
}

/// Returns the stacks that another process has just collected, for one more command that follows
/// the job; empty if there are none.
std::string recent_stacks(const fs::path& directory) {
  std::error_code none;
  const fs::path path = directory / "stacks";
  const auto written = fs::last_write_time(path, none);
  if (none || fs::file_time_type::clock::now() - written > kRecent) return {};
  return read_file(path).value_or("");
}

}  // namespace

int run_job_stacks(Arguments arguments) {
  OptionReader options(arguments);
  const auto directory = below_home(options.take_word("the job's directory"));
  options.expect_end();
  const UniqueFd turn = take_turn(directory);
  std::string text = recent_stacks(directory);
  if (text.empty()) {
    text = stacks_in(directory);
    try {
      write_atomically(directory / "stacks", text);
    } catch (const Error&) {
      // The disk is full. They are printed anyway.
    }
  }
  write_all(STDOUT_FILENO, text);
  return 0;
}

}  // namespace fastgpu::agent
