// Hosts that are directories of this machine: a command runs by the local shell, with the host's
// directory as its home.
#pragma once

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "process/child.hpp"
#include "ssh/client.hpp"

namespace fastgpu::test {

/// Like a real client it goes on reading after a cancel until the grace is over.
class LocalShellSsh final : public ssh::Client {
 public:
  /// A command may end before it has read its input, which is no error: writes then fail.
  explicit LocalShellSsh(std::filesystem::path homes) : homes_(std::move(homes)) {
    ::signal(SIGPIPE, SIG_IGN);
  }

  /// From now on connections to this host break, and those that are open do.
  void lose(const std::string& host) { lost_.insert(host); }

  /// What commands find as PATH.
  void set_path(const std::string& path) { path_ = path; }

  std::filesystem::path home(const std::string& host) const { return homes_ / host; }

  std::vector<HostResult<ssh::Exit>> run(std::vector<ssh::Task> tasks,
                                         const ssh::RunOptions& options,
                                         const Cancel& cancel) override {
    results_.clear();
    std::list<Running> running;
    const auto now = Clock::now();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      results_.push_back({tasks[i].host.name, Error(ErrorKind::internal, "not run")});
      if (cancel.requested()) {
        finish(i, Error(ErrorKind::interrupted, "interrupted"), options);
      } else if (is_lost(tasks[i])) {
        finish(i, Error(ErrorKind::transient, "connection refused"), options);
      } else {
        running.emplace_back(i, std::move(tasks[i]), *this, now, options);
      }
    }
    while (!running.empty()) {
      wait(running, cancel);
      for (auto one = running.begin(); one != running.end();) {
        const auto result = one->step(*this, cancel, options);
        if (result) finish(one->index, *result, options);
        one = result ? running.erase(one) : std::next(one);
      }
    }
    return results_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Result = Outcome<ssh::Exit>;

  struct Running {
    Running(std::size_t at, ssh::Task what, const LocalShellSsh& client, Clock::time_point now,
            const ssh::RunOptions& options)
        : index(at), task(std::move(what)), child(client.command_of(task)) {
      if (options.timeout.count() > 0) deadline = now + options.timeout;
      if (task.next_input) feed();
      if (!task.hold_input_open) child.in() = UniqueFd();
    }

    void feed() {
      while (const auto piece = task.next_input()) {
        std::string_view left = *piece;
        while (!left.empty()) {
          const auto put = ::write(child.in().get(), left.data(), left.size());
          if (put <= 0) return;
          left.remove_prefix(static_cast<std::size_t>(put));
        }
      }
    }

    bool read(UniqueFd& from, const std::function<void(std::string_view)>& sink) {
      std::array<char, 32768> buffer;
      pollfd fd{from.get(), POLLIN, 0};
      if (::poll(&fd, 1, 0) <= 0) return false;
      const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
      if (got <= 0) {
        from = UniqueFd();
        return false;
      }
      if (sink) sink({buffer.data(), static_cast<std::size_t>(got)});
      return true;
    }

    std::optional<Result> step(const LocalShellSsh& client, const Cancel& cancel,
                               const ssh::RunOptions& options) try {
      if (client.is_lost(task)) return Error(ErrorKind::transient, "connection reset");
      const auto now = Clock::now();
      if (!ending && (cancel.requested() || now >= deadline)) {
        ending = Error(cancel.requested() ? ErrorKind::interrupted : ErrorKind::timeout, "ended");
        child.in() = UniqueFd();
        deadline = now + options.grace;
      } else if (ending && now >= deadline) {
        return *ending;
      }
      read(child.out(), task.on_stdout);
      read(child.err(), task.on_stderr);
      if (child.out() || child.err() || !child.poll()) return std::nullopt;
      if (ending) return *ending;
      const process::ExitStatus how = child.wait();
      if (how.signal != 0) return ssh::Exit{0, process::signal_name(how.signal).substr(3)};
      return ssh::Exit{how.code, ""};
    } catch (const Error& e) {
      return e;
    }

    std::size_t index;
    ssh::Task task;
    process::Child child;
    Clock::time_point deadline = Clock::time_point::max();
    std::optional<Error> ending{};
  };

  static void wait(const std::list<Running>& running, const Cancel& cancel) {
    std::vector<pollfd> fds = {{cancel.requested() ? -1 : cancel.fd(), POLLIN, 0}};
    for (const Running& one : running) {
      auto& child = const_cast<process::Child&>(one.child);
      fds.push_back({child.out().get(), POLLIN, 0});
      fds.push_back({child.err().get(), POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), 10);
  }

  void finish(std::size_t index, const Result& result, const ssh::RunOptions& options) {
    results_[index].outcome = result;
    if (options.on_finished) options.on_finished(index, results_[index]);
  }

  bool is_lost(const ssh::Task& task) const { return lost_.contains(task.host.name.value); }

  process::Command command_of(const ssh::Task& task) const {
    const auto home = homes_ / task.host.name.value;
    std::filesystem::create_directories(home);
    process::Command command{.argv = {"sh", "-c", task.command}};
    command.in.mode = command.out.mode = command.err.mode = process::StreamMode::pipe;
    command.directory = home;
    command.grouping = process::Grouping::session;
    command.environment = process::current_environment();
    process::set_variable(*command.environment, "HOME=" + home.string());
    if (!path_.empty()) process::set_variable(*command.environment, "PATH=" + path_);
    return command;
  }

  std::filesystem::path homes_;
  std::string path_;
  std::set<std::string> lost_;
  std::vector<HostResult<ssh::Exit>> results_;
};

}  // namespace fastgpu::test
