// Prints the report of a job with hostile logs, for report_page_test.py.
#include <cstdio>
#include <string>

#include "cli/commands/job/report_page.hpp"

namespace {

using fastgpu::cli::JobEvidence;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;
constexpr int kRanks = 24;

/// Returns samples of 42 seconds, counters of a rank, and a timeline with a hostile path.
fastgpu::cli::UsageEvidence usage_of(const std::string& node) {
  fastgpu::cli::UsageEvidence found{.node = node};
  for (int i = 1; i <= 42; ++i) {
    const auto step = static_cast<std::uint64_t>(i);
    const fastgpu::launcher::GpuUsage gpu{.index = 0,
                                          .percent = 50 + i,
                                          .memory_used = {step * 1'000'000'000},
                                          .memory = {80'000'000'000}};
    found.usage.samples.push_back({.ended = kBegin + i * kSecond,
                                   .span = std::chrono::milliseconds(1'000),
                                   .usage = {.busy = (i % 10) / 10.0,
                                             .memory_used = {step * 200'000'000},
                                             .memory = {16'000'000'000},
                                             .received_each_second = {step * 1'000'000},
                                             .sent_each_second = {1'000},
                                             .gpus = {gpu, gpu}}});
  }
  found.usage.counters = {
      {.rank = 0, .json = R"({"rank": 0, "counters": {"steps": 40, "lane_bytes": [1000, 2000]}})"},
      {.rank = 1, .json = "<script>alert(4)</script>"}};
  found.usage.timelines = {{.rank = 0, .path = "/root/<b>/rank-0.json", .size = 1'000}};
  return found;
}

/// Returns an event with times in microseconds.
fastgpu::cli::TraceEvent event_of(const char* name, int row, std::uint32_t step, std::int64_t began,
                                  std::int64_t length, std::uint64_t bytes = 0) {
  return {.name = name,
          .row = row,
          .step = step,
          .number = row == 0 ? 0 : static_cast<std::uint64_t>(row - 1),
          .bytes = bytes,
          .began = began * 1'000,
          .length = length * 1'000};
}

/// Returns 12 steps of a rank, of 100 ms each: 40 gradients, four buckets on two streams, and the
/// end. Rank 3 is 20 ms late in each, and rank 5 stays behind in the eighth.
fastgpu::cli::RankTrace trace_of(int rank) {
  fastgpu::cli::RankTrace trace{.rank = rank,
                                .node = rank < kRanks / 2 ? "demo-0" : "demo-1",
                                .size = 8'000'000,
                                .bytes_read = 524'288};
  for (std::uint32_t step = 100; step < 112; ++step) {
    const std::int64_t begin = (step - 100) * 100'000 + rank * 50;
    const std::int64_t late = rank == 3 ? 20'000 : rank == 5 && step == 108 ? 35'000 : 0;
    for (int i = 0; i < 40; ++i)
      trace.events.push_back(event_of("ready", 0, step, begin + late + 1'200 * i, 90, 1'000'000));
    for (int i = 0; i < 4; ++i) {
      const std::int64_t from = begin + late + 12'000 * (i + 1);
      trace.events.push_back(event_of("all-reduce", 1 + i % 2, step, from,
                                      (step - 100) * 100'000 + 95'000 - from, 10'000'000));
      trace.events.back().number = static_cast<std::uint64_t>(i);
    }
    const std::int64_t end = begin + late + 49'000;
    trace.events.push_back(
        event_of("wait_step", 0, step, end, (step - 100) * 100'000 + 96'000 - end));
  }
  if (rank == 0)
    trace.events.push_back(event_of("\"><img src=x onerror=alert(5)>", 7, 111, 1'150'000, 9'000));
  if (rank == 7) trace.events.resize(40);  // It has ended long before the others.
  return trace;
}

JobEvidence sample() {
  JobEvidence evidence;
  fastgpu::launcher::JobRecord record;
  record.spec = {.name = {"train"},
                 .argv = {"python", "train.py", "--name", "<img src=x onerror=alert(1)>",
                          std::string(400, 'a')}};
  record.placement = {{{"demo-0"}, 0, kRanks / 2}, {{"demo-1"}, kRanks / 2, kRanks / 2}};
  record.cause = fastgpu::launcher::JobEndCause::failure;
  evidence.job = {.id = "train-1", .cluster = {"c"}, .record = record};
  evidence.job.state = fastgpu::state::JobState::failed;
  evidence.job.exit_code = 7;
  evidence.job.reason = "rank 3 on demo-0: exited with 7\n\"</p><script>alert(2)</script>";
  evidence.job.created = fastgpu::state::TimePoint(std::chrono::seconds(1'700'000'000));
  evidence.job.ended = evidence.job.created + std::chrono::seconds(60);
  evidence.record = record;
  evidence.cluster = "demo";
  evidence.run = "train-1";
  for (int i = 0; i < kRanks; ++i)
    evidence.ranks.push_back({.rank = i,
                              .node = i < kRanks / 2 ? "demo-0" : "demo-1",
                              .has_ended = true,
                              .outcome = i == 3 ? "exited with 7" : "killed by SIGTERM",
                              .exit_code = i == 3 ? 7 : 143,
                              .was_told = i != 3,
                              .began = kBegin + i * kSecond / 10,
                              .ended = kBegin + (i == 3 ? 40 : 42) * kSecond,
                              .out = "loss 0.1 " + std::string(300, 'x') + "\n",
                              .err = i == 3 ? "</pre></body><script>alert(3)</script>\n"
                                              "\x1b]0;title\x07\xc3\x28 ]]> <!-- & \xe2\x80\xae\n"
                                            : ""});
  for (const char* node : {"demo-0", "demo-1"})
    evidence.usage.push_back(usage_of(node));
  evidence.metrics = {{"loss", {}}, {"val_acc", {{.value = 0.5}, {.value = 0.75}}}, {"once", {{}}}};
  for (int i = 0; i < 42; ++i)
    evidence.metrics[0].points.push_back({.time = kBegin + i * kSecond, .value = 2.0 / (i + 1)});
  for (int i = 0; i < kRanks; ++i)
    evidence.traces.push_back(trace_of(i));
  evidence.traces[2].unread_lines = 1;
  return evidence;
}

}  // namespace

int main() {
  const JobEvidence evidence = sample();
  const std::string page = report_page(evidence, evidence.job.created + std::chrono::seconds(90));
  std::fputs(page.c_str(), stdout);
}
