#include "cli/workflows/noting_client.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "state/silence.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kLongEnough{5'000};

/// A host with a note, and whether it has answered in this run.
struct Noted {
  std::filesystem::path note;
  std::string prefix;  ///< "n1 (10.1.2.3:22): ", with which errors begin.
  bool has_answered = false;
};

std::vector<Noted> noted_hosts(const std::vector<ssh::Task>& tasks) {
  std::vector<Noted> hosts;
  hosts.reserve(tasks.size());
  for (const ssh::Task& task : tasks)
    hosts.push_back({.note = task.host.silence_note, .prefix = ssh::place(task.host) + ": "});
  return hosts;
}

void note_answer(Noted& host) {
  if (!host.has_answered && !host.note.empty()) state::end_silence(host.note);
  host.has_answered = true;
}

void note_failure(const Noted& host, const Error& e, bool says_much) {
  if (host.note.empty() || host.has_answered || e.kind() != ErrorKind::transient) return;
  if (!says_much && !state::find_silence(host.note)) return;
  const std::string reason = e.what();
  state::note_silence(host.note,
                      reason.starts_with(host.prefix) ? reason.substr(host.prefix.size()) : reason);
}

}  // namespace

std::vector<HostResult<ssh::Exit>> NotingClient::run(std::vector<ssh::Task> tasks,
                                                     const ssh::RunOptions& options,
                                                     const Cancel& cancel) {
  std::vector<Noted> hosts = noted_hosts(tasks);
  const auto limit = options.connect_timeout.value_or(usual_);
  const bool says_much = limit >= std::min(usual_, kLongEnough);
  ssh::RunOptions own = options;
  own.on_login = [&](std::size_t index) {
    note_answer(hosts[index]);
    if (options.on_login) options.on_login(index);
  };
  own.on_finished = [&](std::size_t index, const HostResult<ssh::Exit>& result) {
    if (result.ok())
      note_answer(hosts[index]);
    else
      note_failure(hosts[index], result.error(), says_much);
    if (options.on_finished) options.on_finished(index, result);
  };
  return client_->run(std::move(tasks), own, cancel);
}

}  // namespace fastgpu::cli
