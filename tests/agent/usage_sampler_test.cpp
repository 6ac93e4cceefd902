#include "agent/jobs/usage_sampler.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "agent/protocol/samples.hpp"
#include "support/fake_nvidia_smi.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using test::FakeNvidiaSmi;

constexpr std::int64_t kSampleSecond = 1'000'000'000;

UsageSample sample_at(int second, double busy = 0.5) {
  return {.ended = second * kSampleSecond,
          .span = 1s,
          .usage = {.busy = busy,
                    .memory_used = {4'000},
                    .memory = {16'000},
                    .received_each_second = {100},
                    .sent_each_second = {7}}};
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string lines_within(std::chrono::milliseconds limit, GpuReadings& gpus,
                         std::string_view wanted) {
  std::string lines;
  for (auto left = limit; left > 0ms && lines.find(wanted) == std::string::npos; left -= 10ms) {
    std::this_thread::sleep_for(10ms);
    lines = gpus.lines();
  }
  return lines;
}

TEST_SUITE_BEGIN("agent/usage_sampler");

TEST_CASE("a sample is a line that is read again as it was") {
  UsageSample sample = sample_at(5, 0.123);
  sample.usage.gpus = {{.index = 0, .percent = 97, .memory_used = {5}, .memory = {80}},
                       {.index = 1, .percent = {}, .memory_used = {6}, .memory = {80}}};
  const std::string line = sample_line(sample);
  CHECK(line == "5000000000 1000 123 4000 16000 100 7 0:97:5:80 1:-:6:80\n");
  const auto read = parse_samples(line + line);
  REQUIRE(read.size() == 2);
  CHECK(sample_line(read[1]) == line);
}

TEST_CASE("lines that are no samples are left out, and so is an incomplete last one") {
  const std::string line = sample_line(sample_at(1));
  for (const char* wrong : {"", "\n", "hello\n", "1 2 3\n", "1 2 3 4 5 6 x\n", "-1 2 3 4 5 6 7\n",
                            "1 2 3 4 5 6 7 0:9\n", "1 2 3 4 5 6 7 0:x:1:2\n", "5000 10"}) {
    CAPTURE(wrong);
    CHECK(parse_samples(line + wrong).size() == 1);
  }
  CHECK(parse_samples("").empty());
}

TEST_CASE("half as many samples are averages by their spans") {
  std::vector<UsageSample> samples = {sample_at(1, 0.2), sample_at(4, 0.6), sample_at(5, 0.9)};
  samples[1].span = 3s;
  samples[1].usage.received_each_second = {500};
  samples[0].usage.gpus = {{.index = 0, .percent = 10}, {.index = 1, .percent = {}}};
  samples[1].usage.gpus = {{.index = 0, .percent = 50}, {.index = 1, .percent = 70}};
  const auto half = halved(samples);
  REQUIRE(half.size() == 2);
  CHECK(half[0].ended == 4 * kSampleSecond);
  CHECK(half[0].span == 4s);
  CHECK(half[0].usage.busy == doctest::Approx(0.5));
  CHECK(half[0].usage.received_each_second == Bytes{400});
  CHECK(half[0].usage.gpus[0].percent == 40);
  CHECK(half[0].usage.gpus[1].percent == 70);
  CHECK(half[1].usage.busy == 0.9);
  CHECK(halved({}).empty());
}

TEST_CASE("a file of samples stays small, and the time that one covers grows") {
  const test::TempDirectory folder;
  const fs::path path = folder.path() / "samples";
  SampleFile file(path);
  CHECK(file.span() == 1s);
  const int most = static_cast<int>(SampleFile::kMostSamples);
  for (int i = 1; i < most; ++i)
    file.add(sample_at(i));
  CHECK(parse_samples(text_of(path)).size() == SampleFile::kMostSamples - 1);
  file.add(sample_at(most));
  CHECK(file.span() == 2s);
  const auto half = parse_samples(text_of(path));
  REQUIRE(half.size() == SampleFile::kMostSamples / 2);
  CHECK(half.back().ended == most * kSampleSecond);
  CHECK(half.back().span == 2s);
  file.add(sample_at(most + 2));
  CHECK(parse_samples(text_of(path)).size() == SampleFile::kMostSamples / 2 + 1);
  CHECK(fs::file_size(path) < 400'000);
}

TEST_CASE("another process goes on with the samples of the first one") {
  const test::TempDirectory folder;
  const fs::path path = folder.path() / "samples";
  {
    SampleFile first(path);
    first.add(sample_at(1));
  }
  std::ofstream(path, std::ios::app) << "2000000000 10";  // It was killed while it wrote.
  SampleFile second(path);
  second.add(sample_at(3));
  const auto read = parse_samples(text_of(path));
  REQUIRE(read.size() == 2);
  CHECK(read[1].ended == 3 * kSampleSecond);
}

TEST_CASE("the counters of this machine are those of its kernel") {
  const UsageCounters before = read_counters("gpu 0 97 40000 81559\n");
  CHECK(before.memory.count > 0);
  CHECK(before.uptime > 0);
  REQUIRE(before.gpus.size() == 1);
  CHECK(before.gpus[0].percent == 97);
  const UsageCounters after = read_counters("");
  CHECK(after.all_ticks >= before.all_ticks);
  CHECK(after.gpus.empty());
}

TEST_CASE("the last figures of every GPU count, whatever else is printed") {
  const test::TempDirectory folder;
  const FakeNvidiaSmi program(folder.path(),
                              "echo 'Failed to initialize NVML'\n"
                              "printf '0, 1, 10, 80\\n1, 2, 20, 80\\n'\n"
                              "printf '0, 50, 30, 80\\n1, [N/A], 40, 80\\n'\nexec sleep 60\n");
  GpuReadings gpus;
  CHECK(lines_within(5s, gpus, "[N/A]") == "gpu 0 50 30 80\ngpu 1 [N/A] 40 80\n");
}

TEST_CASE("an nvidia-smi that ends leaves a node without GPUs") {
  const test::TempDirectory folder;
  const FakeNvidiaSmi program(folder.path(), "echo 'No devices were found'\nexit 6\n");
  GpuReadings gpus;
  CHECK(lines_within(300ms, gpus, "never").empty());
}

TEST_CASE("of two ranks on a node one samples, and the other one when that has ended") {
  const test::TempDirectory folder;
  auto first = std::make_unique<UsageSampler>(folder.path());
  UsageSampler second(folder.path());
  std::this_thread::sleep_for(1'100ms);
  first->look();
  second.look();
  CHECK(first->wait() <= 1'000);
  CHECK(second.wait() > 1'000);
  std::this_thread::sleep_for(1'100ms);
  first->look();
  CHECK(parse_samples(text_of(samples_file(folder.path()))).size() == 1);
  first.reset();
  UsageSampler third(folder.path());
  std::this_thread::sleep_for(1'100ms);
  third.look();
  CHECK(third.wait() <= 1'000);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
