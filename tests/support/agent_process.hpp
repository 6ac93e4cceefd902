// The agent as a child process of a test, with a home directory of its own.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "base/files.hpp"
#include "launcher/frames.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::test {

inline std::string agent_path() {
  return std::string(FASTGPU_BUILD_ROOT) + "/src/agent/fastgpu-agent";
}

/// The home directory of an agent.
using ScratchHome = TempDirectory;

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& path) {
  return read_file(path).value_or("");
}

inline process::Command agent_command(const ScratchHome& home, std::vector<std::string> words) {
  words.insert(words.begin(), agent_path());
  process::Command command{.argv = std::move(words)};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, "HOME=" + home.path().string());
  return command;
}

/// Runs the agent to its end.
inline process::Captured run_agent(const ScratchHome& home, std::vector<std::string> words,
                                   const std::string& input = "") {
  const Cancel never;
  process::CaptureOptions options;
  options.input = input;
  return process::capture(agent_command(home, std::move(words)), options, never);
}

/// Waits until `condition` returns true. Returns false if it does not within half a minute.
template <class Condition>
bool eventually(Condition condition) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// Returns the number of processes with exactly this command line. Tests use unique words.
inline int running(const std::string& command_line) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string line;
    const bool is_process = std::isdigit(entry.path().filename().string()[0]) != 0;
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    // The process may have ended by now.
    if (!is_process || !std::getline(in, line) || line.empty()) continue;
    line.pop_back();
    for (char& c : line)
      if (c == '\0') c = ' ';
    if (line == command_line) ++found;
  }
  return found;
}

/// The output of `job-follow`, by log and by kind.
struct Followed {
  std::map<std::string, std::string> logs;  ///< "0.out", "launcher.err"
  std::map<int, agent::RankEnd> ranks;
  std::vector<agent::JobEnd> job;
  std::vector<std::int64_t> times;
  std::string order;  ///< All output, as it came.
  launcher::FrameDecoder decoder{
      [this](const agent::FrameHeader& header, std::string_view text) { add(header, text); }};

  void add(const agent::FrameHeader& header, std::string_view text) {
    if (header.kind == agent::FrameKind::rank_status)
      ranks[header.rank] = agent::parse_rank_end(text);
    if (header.kind == agent::FrameKind::job_status) job.push_back(agent::parse_job_end(text));
    if (header.kind == agent::FrameKind::written_at)
      times.push_back(static_cast<std::int64_t>(header.offset));
    if (header.kind == agent::FrameKind::data) order += text;
    if (header.kind != agent::FrameKind::data) return;
    const std::string name = header.rank < 0 ? "launcher" : std::to_string(header.rank);
    logs[name + (header.stream == agent::OutputStream::out ? ".out" : ".err")] += text;
  }

  /// Reads until the follower ends. Returns false if it ended before the last frame.
  bool read_from(process::Child& follower) {
    std::array<char, 65536> buffer;
    for (;;) {
      const ssize_t got = ::read(follower.out().get(), buffer.data(), buffer.size());
      if (got <= 0) break;
      decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
    return decoder.ended() && follower.wait().ok();
  }
};

/// Starts `job-follow` with an open standard input, as the launcher does.
inline process::Child start_follower(const ScratchHome& home, std::vector<std::string> words) {
  words.insert(words.begin(), "job-follow");
  process::Command command = agent_command(home, std::move(words));
  command.in.mode = process::StreamMode::pipe;
  command.out.mode = process::StreamMode::pipe;
  return process::Child(command);
}

inline Followed follow(const ScratchHome& home, std::vector<std::string> words) {
  process::Child follower = start_follower(home, std::move(words));
  Followed followed;
  CHECK(followed.read_from(follower));
  return followed;
}

}  // namespace fastgpu::test
