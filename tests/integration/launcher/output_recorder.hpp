// The output of jobs, kept for tests.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job_observer.hpp"

namespace fastgpu::test {

/// Keeps what each log receives: "0.out", "launcher.err".
class OutputRecorder final : public launcher::JobObserver {
 public:
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override {
    const bool is_launcher = rank == agent::kLauncherRank;
    const std::string name = is_launcher ? "launcher" : std::to_string(rank);
    logs[name + (stream == agent::OutputStream::out ? ".out" : ".err")] += bytes;
    if (!is_launcher && on_output) on_output();
  }

  /// Returns the number of logs of ranks.
  std::size_t rank_logs() const {
    return logs.size() - logs.count("launcher.out") - logs.count("launcher.err");
  }

  std::map<std::string, std::string> logs;
  std::function<void()> on_output;  ///< Called for the output of ranks; may be empty.
};

/// Returns the command line of a shell that runs `script`.
inline std::vector<std::string> shell(const std::string& script) {
  return {"sh", "-c", script};
}

}  // namespace fastgpu::test
