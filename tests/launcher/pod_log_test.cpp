#include "launcher/kubernetes/log_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using agent::OutputStream;

constexpr const char* kTime = "2026-03-01T12:00:00.000000001Z ";

/// A log of a job with four ranks, and what it has passed on as "RANK STREAM TEXT".
struct ReadPodLog {
  std::vector<std::string> lines{};
  PodLog log{4, [this](const PodLine& line) {
               lines.push_back(std::to_string(line.rank) +
                               (line.stream == OutputStream::out ? " out " : " err ") +
                               std::string(line.text));
             }};
};

TEST_SUITE_BEGIN("launcher/kubernetes/log_lines");

TEST_CASE("times are read to the nanosecond") {
  CHECK(parse_pod_time("1970-01-01T00:00:01Z") == 1'000'000'000);
  CHECK(parse_pod_time("1970-01-01T00:00:00.000000123Z") == 123);
  CHECK(parse_pod_time("1970-01-02T00:00:00.5Z") == 86'400'500'000'000);
  for (const char* bad :
       {"", "1970-01-01", "1970-13-01T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:00",
        "9999-01-01T00:00:00Z", "1970-01-01 00:00:00Z", "1970-01-01T00:00:00+1"})
    CHECK_FALSE(parse_pod_time(bad));
}

TEST_CASE_FIXTURE(ReadPodLog, "lines belong to the ranks that mpirun names, and else to mpirun") {
  const std::string time = kTime;
  log.take(time + "[1,3]<stdout>:hello\n" + time + "[1,0]<stderr>: spaced\n" + time +
           "[prterun-host-7@1,2]<stdout>: five\n" + time + "[1,9]<stdout>:no such rank\n" + time +
           "[1,x]<stdout>:y\n" + time + "mpirun noticed\n" + time + "\n");
  CHECK(lines == std::vector<std::string>{"3 out hello\n", "0 err  spaced\n", "2 out five\n",
                                          "-1 err [1,9]<stdout>:no such rank\n",
                                          "-1 err [1,x]<stdout>:y\n", "-1 err mpirun noticed\n",
                                          "-1 err \n"});
}

TEST_CASE_FIXTURE(ReadPodLog, "bytes may come in pieces of any size") {
  const std::string text =
      std::string(kTime) + "[1,0]<stdout>:one\n" + kTime + "[1,1]<stdout>:two\n";
  for (const char c : text)
    log.take(std::string(1, c));
  CHECK(lines == std::vector<std::string>{"0 out one\n", "1 out two\n"});
}

TEST_CASE_FIXTURE(ReadPodLog,
                  "a log that breaks off is continued without loss and without repeats") {
  const std::string first = "2026-03-01T12:00:00.1Z ", second = "2026-03-01T12:00:00.2Z ",
                    third = "2026-03-01T12:00:00.3Z ";
  log.take(first + "[1,0]<stdout>:a\n" + second + "[1,0]<stdout>:b\n" + second +
           "[1,1]<stdout>:c\n" + second + "[1,1]<std");
  log.end(false);
  log.take(first + "[1,0]<stdout>:a\n" + second + "[1,0]<stdout>:b\n" + second +
           "[1,1]<stdout>:c\n" + second + "[1,1]<stdout>:d\n" + third + "[1,0]<stdout>:e");
  log.end(true);
  CHECK(lines ==
        std::vector<std::string>{"0 out a\n", "0 out b\n", "1 out c\n", "1 out d\n", "0 out e"});
}

TEST_CASE_FIXTURE(ReadPodLog,
                  "a line of many bytes comes in pieces, also if the log breaks off in it") {
  const std::string first = "2026-03-01T12:00:00.1Z [1,0]<stdout>:a\n",
                    time = "2026-03-01T12:00:00.1Z ";
  std::string text(300'000, 'x');
  for (std::size_t i = 0; i < text.size(); i += 1000)
    text[i] = static_cast<char>('a' + i / 1000 % 26);
  const std::string all =
      first + time + "[1,2]<stdout>:" + text + "\n" + time + "[1,1]<stdout>:b\n";
  for (std::size_t at = 0; at < 200'000; at += 7'000)
    log.take(std::string_view(all).substr(at, std::min<std::size_t>(7'000, 200'000 - at)));
  log.end(false);
  CHECK(lines.size() > 2);
  log.take(all);
  log.end(true);
  std::string joined;
  for (const std::string& line : lines)
    if (line.starts_with("2 out ")) joined += line.substr(6);
  CHECK(joined == text + "\n");
  CHECK(lines.front() == "0 out a\n");
  CHECK(lines.back() == "1 out b\n");
  CHECK(std::ranges::count(lines, "0 out a\n") == 1);
}

TEST_CASE_FIXTURE(ReadPodLog, "a clock that is set back loses no line") {
  log.take(std::string("2026-03-01T12:00:05Z ") + "[1,0]<stdout>:a\n2026-03-01T12:00:01Z " +
           "[1,0]<stdout>:b\n");
  CHECK(lines.size() == 2);
}

TEST_CASE_FIXTURE(ReadPodLog, "what is no log with times is refused") {
  CHECK(test::failure_of([&] { log.take("hello world\n"); }).kind() == ErrorKind::remote);
  CHECK(test::failure_of([&] { log.take(std::string(3 << 20, 'x')); }).kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
