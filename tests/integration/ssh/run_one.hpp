// One command on one host: its output, and what every way to run it keeps to.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ssh/ssh_client.hpp"

namespace fastgpu::test {

struct Captured {
  std::string out;
  std::string err;
};

/// Returns a task that writes its output to `captured`, which must outlive it.
inline ssh::Task task_on(const ssh::Host& host, const std::string& command, Captured& captured) {
  return {.host = host,
          .command = command,
          .on_stdout = [&](std::string_view piece) { captured.out += piece; },
          .on_stderr = [&](std::string_view piece) { captured.err += piece; }};
}

inline HostResult<ssh::Exit> run_one(ssh::Task task, const ssh::RunOptions& options = {}) {
  ssh::SshClient client;
  const Cancel cancel;
  return client.run({std::move(task)}, options, cancel).at(0);
}

inline void check_that_any_bytes_arrive(const ssh::Host& host, int size) {
  std::string sent;
  for (int i = 0; i < size; ++i)
    sent += static_cast<char>(i * 7 + i / 251);
  Captured captured;
  ssh::Task task = task_on(host, "cat", captured);
  std::size_t at = 0;
  task.next_input = [&]() -> std::optional<std::string> {
    if (at == sent.size()) return std::nullopt;
    std::string piece = sent.substr(at, 100'000);
    at += piece.size();
    return piece;
  };
  const auto result = run_one(std::move(task));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(captured.out == sent);
}

inline void check_that_unread_input_holds_up_nothing(const ssh::Host& host) {
  Captured captured;
  ssh::Task task = task_on(host, "exit 5", captured);
  task.next_input = [] { return std::string(100'000, 'x'); };
  const auto result = run_one(std::move(task));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(result.value().code() == 5);
}

}  // namespace fastgpu::test
