// Prints the report of a job with hostile logs, for report_page_test.py.
#include <cstdio>
#include <string>

#include "cli/commands/job/report_page.hpp"

namespace {

using fastgpu::cli::JobEvidence;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;
constexpr int kRanks = 24;

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
  return evidence;
}

}  // namespace

int main() {
  const JobEvidence evidence = sample();
  const std::string page = report_page(evidence, evidence.job.created + std::chrono::seconds(90));
  std::fputs(page.c_str(), stdout);
}
