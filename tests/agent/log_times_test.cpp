#include "agent/jobs/log_times.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <thread>

#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

const std::vector<LogTime> kTimes = {{100, 5}, {200, 8}, {300, 20}};

TEST_SUITE_BEGIN("agent/log_times");

TEST_CASE("a byte was written at the first observation that has it") {
  const auto time_of = [](std::uint64_t offset) {
    const auto found = written_at(kTimes, offset);
    return found ? found->time : -1;
  };
  CHECK(time_of(0) == 100);
  CHECK(time_of(4) == 100);
  CHECK(time_of(5) == 200);
  CHECK(time_of(19) == 300);
  CHECK(time_of(20) == -1);
  CHECK_FALSE(written_at({}, 0).has_value());
}

TEST_CASE("output since a time begins behind the last observation before it") {
  CHECK(offset_at(kTimes, 50) == 0);
  CHECK(offset_at(kTimes, 100) == 0);
  CHECK(offset_at(kTimes, 101) == 5);
  CHECK(offset_at(kTimes, 300) == 8);
  CHECK(offset_at(kTimes, 301) == 20);
  CHECK(offset_at({}, 7) == 0);
}

TEST_CASE("a growing log is observed, and its index can be read at any time") {
  const test::TempDirectory directory;
  const auto log = directory.path() / "0.out";
  std::ofstream out(log);
  CHECK(read_times(log).empty());
  LogClock clock({log, directory.path() / "none"});
  clock.look();
  CHECK(read_times(log).empty());
  out << "hello" << std::flush;
  clock.finish();
  clock.look();  // Nothing is new, and it rests.
  out << "world" << std::flush;
  std::this_thread::sleep_for(30ms);
  clock.look();
  clock.finish();
  const auto times = read_times(log);
  REQUIRE(times.size() == 2);
  CHECK(times[0].size == 5);
  CHECK(times[1].size == 10);
  CHECK(times[1].time - times[0].time >= 20'000'000);
  std::ofstream(times_path(log), std::ios::app) << "torn";
  CHECK(read_times(log).size() == 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
