#include "cli/commands/job/report_page.hpp"

#include <doctest/doctest.h>

#include "cli/commands/job/post_mortem.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'700'000'000 * kSecond;

state::TimePoint at(std::int64_t seconds) {
  return state::TimePoint(std::chrono::seconds(1'700'000'000 + seconds));
}

/// A job of three ranks on two nodes, whose second rank has failed.
JobEvidence failed_job() {
  JobEvidence evidence;
  launcher::JobRecord record;
  record.spec = {.name = {"train"}, .argv = {"./train", "<b>", "a b"}};
  record.placement = {{{"demo-0"}, 0, 2}, {{"demo-1"}, 2, 1}};
  record.cause = launcher::JobEndCause::failure;
  evidence.job = {.id = "train-1", .cluster = {"c"}, .record = record};
  evidence.job.state = state::JobState::failed;
  evidence.job.exit_code = 7;
  evidence.job.reason = "rank 1 on demo-0: exited with 7";
  evidence.job.created = at(0);
  evidence.job.ended = at(20);
  evidence.record = record;
  evidence.cluster = "demo";
  evidence.run = "train-1";
  evidence.ranks = {{.rank = 0,
                     .node = "demo-0",
                     .has_ended = true,
                     .outcome = "killed by SIGTERM",
                     .exit_code = 143,
                     .signal = "SIGTERM",
                     .was_told = true,
                     .began = kBegin + kSecond,
                     .ended = kBegin + 19 * kSecond,
                     .out = "step 1\n"},
                    {.rank = 1,
                     .node = "demo-0",
                     .has_ended = true,
                     .outcome = "exited with 7",
                     .exit_code = 7,
                     .began = kBegin + kSecond,
                     .ended = kBegin + 11 * kSecond,
                     .err = "</pre><script>alert(1)</script>\n\x1b[31m\xff&amp;\n"},
                    {.rank = 2, .node = "demo-1"}};
  return evidence;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_SUITE_BEGIN("cli/report_page");

TEST_CASE("the page shows how the job and its ranks ended") {
  const std::string page = report_page(failed_job(), at(30));
  CHECK(has(page, "<span class=\"state bad\">failed</span>"));
  CHECK(has(page, "rank 1 on demo-0: exited with 7"));
  CHECK(has(page, "<dt>cause</dt><dd>failure</dd>"));
  CHECK(has(page, "class=\"bar bad\" style=\"left:0.00%;width:55.56%\""));
  CHECK(has(page, "class=\"bar told\" style=\"left:0.00%;width:100.00%\""));
  CHECK(has(page, "no end on record"));
  CHECK(has(page, "<td>demo-0</td><td>0-1</td>"));
  CHECK(has(page, "prefers-color-scheme:dark"));
  CHECK(has(page, "<details open=\"open\"><summary>rank 1"));
}

TEST_CASE("the report has what the nodes have cost while the job ran, where their price is known") {
  JobEvidence evidence = failed_job();
  CHECK_FALSE(has(report_page(evidence, at(30)), "<dt>cost</dt>"));
  CHECK(report_view(evidence, at(30)).root["cost"].is_null());
  evidence.price = Money{36.0, kUsd};
  // Two nodes for the 20 seconds of the job: 36 USD/h are 0.01 USD/s.
  CHECK(has(report_page(evidence, at(30)),
            "<dt>cost</dt><dd>0.40 USD, of nodes at 36.00 USD/h each</dd>"));
  CHECK(report_view(evidence, at(30)).root["cost"]["amount"] == doctest::Approx(0.4));
  evidence.price = Money{0, kUsd};
  CHECK_FALSE(has(report_page(evidence, at(30)), "<dt>cost</dt>"));
}

TEST_CASE("hostile lines and arguments are text in the page") {
  const std::string page = report_page(failed_job(), at(30));
  CHECK_FALSE(has(page, "<script"));
  CHECK_FALSE(has(page, "<b>"));
  CHECK_FALSE(has(page, "\x1b"));
  CHECK_FALSE(has(page, "\xff"));
  CHECK(has(page, "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\n?&amp;amp;"));
}

TEST_CASE("of many ranks those that failed are shown in any case") {
  JobEvidence evidence = failed_job();
  evidence.ranks.clear();
  for (int i = 0; i < 1'000; ++i)
    evidence.ranks.push_back({.rank = i,
                              .node = "demo-0",
                              .has_ended = true,
                              .outcome = i == 900 ? "exited with 3" : "ended well",
                              .exit_code = i == 900 ? 3 : 0,
                              .began = kBegin,
                              .ended = kBegin + kSecond,
                              .out = "line\n"});
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "256 of 1000 ranks are shown"));
  CHECK(has(page, "<td>900</td><td>demo-0</td><td>exited with 3</td>"));
  CHECK(page.size() < 300'000);
}

TEST_CASE("a job that runs has bars up to now") {
  JobEvidence evidence = failed_job();
  evidence.job.state = state::JobState::running;
  evidence.job.ended.reset();
  evidence.ranks = {{.rank = 0, .node = "demo-0", .began = kBegin}};
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "class=\"bar open\" style=\"left:0.00%;width:100.00%\""));
  CHECK(has(page, "state open"));
}

TEST_CASE("nodes whose clocks are ten minutes off ours have the same bars and charts") {
  for (const std::int64_t minutes : {-10, 0, 10}) {
    CAPTURE(minutes);
    const std::int64_t offset = minutes * 60 * kSecond;
    JobEvidence evidence = failed_job();
    for (RankEvidence& rank : evidence.ranks) {
      if (rank.began != 0) rank.began += offset;
      if (rank.ended != 0) rank.ended += offset;
    }
    evidence.usage = {{.node = "demo-0",
                       .usage = {.samples = {{.ended = kBegin + offset + 10 * kSecond,
                                              .span = std::chrono::milliseconds(2'000),
                                              .usage = {.busy = 0.5}}}}}};
    const std::string page = report_page(evidence, at(30));
    CHECK(has(page, "class=\"bar bad\" style=\"left:0.00%;width:55.56%\""));
    CHECK(has(page, "points=\"444.4,50.0 \""));
    CHECK(has(page, "<span>18s</span>"));
    CHECK(has(page, "<dt>duration</dt><dd>20s</dd>"));
  }
}

TEST_CASE("a job that runs and has samples of its nodes has charts up to the last one") {
  JobEvidence evidence = failed_job();
  evidence.job.state = state::JobState::running;
  evidence.job.ended.reset();
  evidence.ranks = {{.rank = 0, .node = "demo-0"}};
  for (const int second : {610, 620})
    evidence.usage.push_back({.node = "demo-0",
                              .usage = {.samples = {{.ended = kBegin + second * kSecond,
                                                     .span = std::chrono::milliseconds(10'000),
                                                     .usage = {.busy = 0.5}}}}});
  CHECK(has(report_page(evidence, at(30)), "<span>20s</span>"));
}

TEST_CASE("the document has a row for each rank") {
  const View view = report_view(failed_job(), at(30));
  CHECK(view.root["ranks"].size() == 3);
  CHECK(view.root["ranks"][1]["exit_code"] == 7);
  CHECK(view.root["ranks"][2]["exit_code"].is_null());
  CHECK(view.table.rows.size() == 3);
  CHECK(view.page == report_page(failed_job(), at(30)));
}

TEST_CASE("the nodes have charts, and the library its counters and timelines") {
  JobEvidence evidence = failed_job();
  launcher::UsageSample sample{.ended = kBegin + 10 * kSecond,
                               .span = std::chrono::milliseconds(2'000),
                               .usage = {.busy = 0.5,
                                         .memory_used = {4'000'000'000},
                                         .memory = {8'000'000'000},
                                         .received_each_second = {3'000'000},
                                         .sent_each_second = {1'000'000}}};
  evidence.usage = {{.node = "demo-0", .usage = {.samples = {sample}}},
                    {.node = "demo-1", .usage = {}}};
  launcher::JobUsage& first = evidence.usage[0].usage;
  first.counters = {{.rank = 0,
                     .json = R"({"counters": {"steps": 3, "bucket_bytes": 2000},)"
                             R"( "links": [{"name": "tcp <eth0>", "bytes_sent": 5000}]})"},
                    {.rank = 1, .json = R"({"counters": {"steps": 5, "lane_bytes": [1, 2]}})"},
                    {.rank = 2, .json = "[]"},
                    {.rank = 3, .json = "no json"}};
  first.timelines = {{.rank = 1, .path = "/root/t/rank-1.json", .size = 1'500'000}};
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "CPU 50%, most 50%"));
  CHECK(has(page, "memory 4 GB, most 4 GB of 8 GB"));
  CHECK(has(page, "points=\"444.4,50.0 \""));
  CHECK(has(page, "no samples: the job was too short"));
  CHECK_FALSE(has(page, "GPU memory"));
  CHECK(has(page, "<td>steps</td><td>2</td><td>8</td><td>3</td><td>5</td>"));
  CHECK(has(page, "<td>bucket_bytes</td><td>1</td><td>2 kB</td>"));
  CHECK(has(page, "<td>lane_bytes</td><td>1</td><td>3 B</td>"));
  CHECK(has(page, "<td>0</td><td>demo-0</td><td>tcp &lt;eth0&gt;</td><td>5 kB</td><td></td>"));
  CHECK(has(page, "<td>/root/t/rank-1.json</td><td>1.5 MB</td>"));
  const View view = report_view(evidence, at(30));
  CHECK(view.root["usage"][0]["samples"][0]["busy_percent"] == 50.0);
  CHECK(view.root["usage"][1]["samples"].empty());
  CHECK(view.root["counters"][1]["counters"]["steps"] == 5);
  CHECK(view.root["counters"][3]["counters"].empty());
  CHECK(view.root["counters"][0]["links"][0]["bytes_sent"] == 5'000);
  CHECK(view.root["timelines"][0]["bytes"] == 1'500'000);
  CHECK(view.root["traces"]["ranks"].empty());
}

TEST_CASE("the timelines of ranks are bars, and the rank that others waited for is named") {
  JobEvidence evidence = failed_job();
  for (int rank = 0; rank < 3; ++rank) {
    RankTrace trace{.rank = rank, .node = "demo-<0>", .size = 9'000, .bytes_read = 900};
    for (std::uint32_t step = 1; step <= 5; ++step)
      trace.events.push_back({.name = "all-reduce",
                              .row = 1,
                              .step = step,
                              .bytes = 4'000'000,
                              .began = step * 10'000'000 + (rank == 1 ? 2'500'000 : 0),
                              .length = rank == 1 ? 2'500'000 : 5'000'000});
    evidence.traces.push_back(trace);
  }
  evidence.traces[2].events.push_back(
      {.name = "\"><script>", .step = 5, .began = 50'000'000, .length = 5'000'000});
  evidence.traces[2].unread_lines = 2;
  evidence.traces_left_out = 7;
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "3 timelines, steps 1 to 5"));
  CHECK(has(page, "Of 3 timelines only the end was read, 900 B at most of each"));
  CHECK(has(page, "7 further timelines were not read"));
  CHECK(has(page, "2 lines could not be read"));
  CHECK(has(page, "<td>all-reduce</td><td>15</td><td>60 MB</td><td>5ms</td><td>5ms</td>"));
  CHECK(has(page, "The others waited for rank 1 most: in 5 steps, 2.5ms at most."));
  CHECK(has(page, "<td>rank 0 (12.5ms), rank 2 (12.5ms)</td>"));
  CHECK(has(page, "steps 2 to 5, 35ms"));
  CHECK(has(page, "<summary>rank 0 on demo-&lt;0&gt;</summary>"));
  CHECK(has(page, "title=\"all-reduce 0 of step 2, 4 MB, 5ms, waited 2.5ms for rank 1\""));
  CHECK(has(page,
            "left:0.00%;width:14.29%;background-image:linear-gradient(90deg,var(--bad) 50.00%"));
  CHECK(has(page, "title=\"&quot;&gt;&lt;script&gt; of step 5, 5ms\""));
  CHECK_FALSE(has(page, "<script"));
  const Json traces = report_view(evidence, at(30)).root["traces"];
  CHECK(traces["ranks"][2]["unread_lines"] == 2);
  CHECK(traces["waits"][0]["waited_for"] == 1);
  CHECK(traces["waits"][0]["seconds"] == doctest::Approx(0.0125));
  CHECK(traces["steps"][4]["waited_for"] == 1);
  CHECK(traces["operations"][0]["bytes"] == 60'000'000);
  CHECK(traces["left_out"] == 7);
}

TEST_CASE("of many long timelines the page shows some, and stays small") {
  JobEvidence evidence = failed_job();
  for (int rank = 0; rank < 256; ++rank) {
    RankTrace trace{.rank = rank, .node = "demo-0"};
    for (std::uint32_t i = 0; i < 4'000; ++i)
      trace.events.push_back({.name = "all-reduce",
                              .row = static_cast<int>(i % 64),
                              .step = i / 1'000,
                              .number = i % 1'000,
                              .bytes = 1,
                              .began = i * 1'000'000 + rank,
                              .length = 30'000'000});
    evidence.traces.push_back(std::move(trace));
  }
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "16 of 256 ranks are drawn"));
  CHECK(has(page, "shortest bars are not drawn"));
  CHECK(page.size() < 1'500'000);
}

TEST_CASE("the measures that a job has printed are curves over its time") {
  JobEvidence evidence = failed_job();
  evidence.metrics = {
      {"loss", {{.time = kBegin, .value = 4}, {.time = kBegin + 20 * kSecond, .value = 1}}},
      {"acc", {{.value = 1}, {.value = 1}, {.value = 1}}},
      {"once", {{.value = 1}}}};
  const std::string page = report_page(evidence, at(30));
  CHECK(has(page, "loss 4 to 1, from 1 to 4"));
  CHECK(has(page, "points=\"0.0,0.0 1000.0,100.0 \""));
  CHECK(has(page, "points=\"0.0,100.0 500.0,100.0 1000.0,100.0 \""));
  CHECK_FALSE(has(page, "once 1"));
  const View view = report_view(evidence, at(30));
  CHECK(view.root["metrics"][0]["points"][1]["value"] == 1.0);
  CHECK(view.root["metrics"][1]["points"][0]["time"].is_null());
}

TEST_CASE("a long job has as many points in its charts as a short one") {
  JobEvidence evidence = failed_job();
  evidence.usage = {{.node = "demo-0"}};
  for (int i = 1; i <= 3'600; ++i)
    evidence.usage[0].usage.samples.push_back({.ended = kBegin + i * kSecond,
                                               .span = std::chrono::milliseconds(1'000),
                                               .usage = {.memory = {1}}});
  const View view = report_view(evidence, at(3'600));
  CHECK(view.root["usage"][0]["samples"].size() == 225);
  CHECK(report_page(evidence, at(3'600)).size() < 40'000);
}

TEST_CASE("a page without samples, counters and timelines has no parts for them") {
  const std::string page = report_page(failed_job(), at(30));
  for (const char* part :
       {"<h2>Nodes", "<h2>Counters", "<h2>Timelines", "class=\"op", "<h2>Metrics", "<svg"})
    CHECK_FALSE(has(page, part));
}

TEST_CASE("a bundle has the ends of logs and no secrets") {
  JobEvidence evidence = failed_job();
  evidence.facts = {{.node = "demo-0", .text = "$ uname -a\n"}};
  evidence.missing = {"demo-1: timeout"};
  const auto files = bundle_of(
      evidence, {"LR=0.1", "WANDB_API_KEY=sesame", "PLAIN=hidden", "db_password=p"}, {"PLAIN"});
  REQUIRE(files.contains("job.json"));
  CHECK(has(files.at("job.json"), "\"demo-1: timeout\""));
  CHECK(has(files.at("job.json"), "\"exit_code\": 7"));
  CHECK(files.at("logs/0.out") == "step 1\n");
  CHECK(files.contains("logs/1.err"));
  CHECK_FALSE(files.contains("logs/2.out"));
  CHECK(files.at("nodes/demo-0.txt") == "$ uname -a\n");
  const std::string& variables = files.at("environment.txt");
  CHECK(has(variables, "LR=0.1\n"));
  CHECK(has(variables, "WANDB_API_KEY=(left out)\n"));
  for (const char* secret : {"sesame", "hidden", "=p\n"})
    CHECK_FALSE(has(variables, secret));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
