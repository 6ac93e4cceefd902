#include "agent/jobs/log_pump.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "agent/files/disk.hpp"
#include "base/files.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

/// A pump with its logs in a directory of its own.
struct Logs {
  test::TempDirectory directory;
  UniqueFd out = open_for_append(directory.path() / "out");
  UniqueFd err = open_for_append(directory.path() / "err");
  LogPump pump{out, err};

  std::string text(const char* name) const {
    return fastgpu::read_file(directory.path() / name).value_or("none");
  }
};

/// A limit on the size of files, which acts as a full disk does.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_SUITE_BEGIN("agent/log_pump");

TEST_CASE("output of any size reaches its log byte for byte, however it is written") {
  Logs logs;
  std::string all;
  for (int i = 0; all.size() < 5'000'000; ++i)
    all += std::to_string(i) + (i % 7 == 0 ? "\n" : std::string("\0", 1));
  std::jthread writer([&] { write_all(logs.pump.out().get(), all); });
  write_all(logs.pump.err().get(), "an error");
  writer.join();
  logs.pump.settle();
  CHECK(logs.text("out") == all);
  CHECK(logs.text("err") == "an error");
  CHECK_FALSE(logs.pump.has_dropped());
  write_all(logs.pump.err().get(), " and more");
  logs.pump.leave_to_program();
  logs.pump.settle();
  logs.pump.settle();
  CHECK(logs.text("err") == "an error and more");
}

TEST_CASE("what has no room is dropped, and a line says how much once there is room again") {
  ::signal(SIGXFSZ, SIG_IGN);
  Logs logs;
  {
    const FileLimit full(10);
    write_all(logs.pump.out().get(), "12345678\nlost ");
    logs.pump.settle();
    write_all(logs.pump.out().get(), std::string(2'995, 'x'));
    logs.pump.settle();
    CHECK(logs.text("out") == "12345678\nl");
    CHECK(logs.pump.has_dropped());
  }
  write_all(logs.pump.out().get(), "again\n");
  logs.pump.settle();
  CHECK(logs.text("out") ==
        "12345678\nl\n[fastgpu: 3 kB of output dropped: no space left]\nagain\n");
  CHECK(logs.text("err").empty());
}

TEST_CASE("a process that writes without end does not keep the logs from settling") {
  Logs logs;
  ::signal(SIGPIPE, SIG_IGN);
  const UniqueFd pipe(::fcntl(logs.pump.out().get(), F_DUPFD_CLOEXEC, 0));
  std::jthread writer([&](const std::stop_token& stop) {
    const std::string piece(4'096, 'x');
    while (!stop.stop_requested() && ::write(pipe.get(), piece.data(), piece.size()) > 0) {
    }
  });
  logs.pump.leave_to_program();
  for (int i = 0; i < 10; ++i)
    logs.pump.settle();
  writer.request_stop();
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
