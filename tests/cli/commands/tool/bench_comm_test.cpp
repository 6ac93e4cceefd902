#include <doctest/doctest.h>

#include "base/json.hpp"
#include "cli/commands/tool/bench_comm_job.hpp"
#include "cli/commands/tool/bench_comm_report.hpp"
#include "cli/ui/html.hpp"
#include "support/bench_results.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::Session;
using test::some_results;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

TEST_SUITE_BEGIN("cli/bench_comm");

TEST_CASE("the table has the columns of nccl-tests, then averages, then models") {
  const auto lines =
      lines_of(text_of({"demo", "bench-comm-1", some_results()}, Detail::usual, {}).str());
  REQUIRE(lines.size() == 9);
  CHECK(lines[0] ==
        "COLLECTIVE  TYPE     REDOP  SIZE(B)    COUNT  TIME(us)  ALGBW(GB/s)  BUSBW(GB/s)");
  CHECK(lines[1] ==
        "all_reduce  float32  sum          8        2     12.50        0.001        0.001");
  CHECK(lines[2] ==
        "all_reduce  float32  sum    4194304  1048576      2097        2.000        3.000");
  CHECK(lines[3].starts_with("all_gather  float16  none   1000000"));
  CHECK(lines[4] == "average bus bandwidth of all_reduce float32: 1.500 GB/s");
  CHECK(lines[5] == "average bus bandwidth of all_gather float16: 0.750 GB/s");
  CHECK(lines[6].empty());
}

TEST_CASE("-o wide adds library and ranks") {
  const BenchReport report{"demo", "bench-comm-1", some_results()};
  const auto lines = lines_of(text_of(report, Detail::wide, {}).str());
  CHECK(lines[0].starts_with("LIBRARY  COLLECTIVE"));
  CHECK(lines[1].find(" 4 ") != std::string::npos);
}

TEST_CASE("the JSON has every field of every result, in bytes a second") {
  const View view = view_of(BenchReport{"demo", "bench-comm-1", some_results()});
  CHECK(view.root.begin().key() == "schema");
  CHECK(view.root["schema"] == "fastgpu.bench-comm/1");
  CHECK(view.root["cluster"] == "demo");
  REQUIRE(view.root["results"].size() == 4);
  const Json& second = view.root["results"][1];
  CHECK(second.dump() ==
        R"({"library":"fastgpu","collective":"all_reduce","dtype":"float32","ranks":4,)"
        R"("bytes":4194304,"seconds":0.002097152,"algbw":2000000000.0,"busbw":3000000000.0})");
  const Json& model = view.root["results"][3];
  CHECK(model["collective"] == "gradients");
  CHECK(model["model"] == "a<b>&\"c\"");
  CHECK(model["steps"] == 3);
  CHECK(model["step_seconds"].size() == 3);
}

TEST_CASE("sizes are told exactly") {
  CHECK(exact_size({8}) == "8 B");
  CHECK(exact_size({1000}) == "1000 B");
  CHECK(exact_size({65536}) == "64 KiB");
  CHECK(exact_size({1536}) == "1536 B");
  CHECK(exact_size({std::uint64_t{3} << 30}) == "3 GiB");
}

TEST_CASE("text in a page cannot become markup") {
  CHECK(html_text("<a href=\"x\">&\x01") == "&lt;a href=&quot;x&quot;&gt;&amp;?");
}

TEST_CASE("a plot leaves out what has no logarithm, and is none without a point") {
  const auto text = [](double value) { return std::to_string(value); };
  Plot plot{"title", "bytes", "label", {{"a", {{0, 1}, {1, 0}, {-1, -1}}}}, text, text};
  CHECK(plot_figure(plot).empty());
  plot.curves.push_back({"b", {{8, 2}}});
  const std::string figure = plot_figure(plot);
  CHECK(figure.find("<circle") == figure.rfind("<circle"));
  CHECK(figure.find("nan") == std::string::npos);
  CHECK(figure.find("inf") == std::string::npos);
}

TEST_CASE("results come from rank 0 in pieces of any size, the rest goes to the screen") {
  Session session;
  BenchOutput output(session.context);
  const std::string lines = comm::bench::to_json(some_results()[0]) + "\n" +
                            comm::bench::to_json(some_results()[3]) + "\n";
  for (const char c : lines)
    output.output(0, agent::OutputStream::out, std::string(1, c));
  output.output(1, agent::OutputStream::err, "a warning\n");
  output.finish(LauncherWords::dropped);
  REQUIRE(output.results().size() == 2);
  CHECK(output.results()[1].step->model == "a<b>&\"c\"");
  CHECK(session.err.text.find("[1] a warning\n") != std::string::npos);
  CHECK(session.out.text.empty());
}

TEST_CASE("a line that is no result is told when the results are wanted") {
  Session session;
  BenchOutput output(session.context);
  output.output(0, agent::OutputStream::out, "hello\n");
  const Error e = failure_of([&] { output.results(); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).starts_with("rank 0: "));
}

TEST_CASE("what the user must change is refused before anything is started") {
  struct Case {
    std::vector<std::string> words;
    ErrorKind kind;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{}, ErrorKind::usage, "CLUSTER"},
      {{"demo"}, ErrorKind::not_found, "there is no cluster 'demo'"},
      {{"demo", "--sizes", "8:x"}, ErrorKind::usage, "--sizes '8:x': 'x' is not a size"},
      {{"demo", "--sizes", ""}, ErrorKind::usage, "--sizes"},
      {{"demo", "--sizes=--help"}, ErrorKind::usage, "--sizes '--help'"},
      {{"demo", "--collective", "all_reduse"}, ErrorKind::usage, "did you mean all_reduce?"},
      {{"demo", "--dtype", "fp16"}, ErrorKind::usage, "--dtype 'fp16' is none of"},
      {{"demo", "--repetitions", "0"}, ErrorKind::usage, "--repetitions"},
      {{"demo", "--model", "resnet51"}, ErrorKind::not_found, "did you mean resnet50?"},
      {{"demo", "--model", "/dev/null"}, ErrorKind::not_found, "nor a file"},
      {{"demo", "-e", "A B=1"}, ErrorKind::usage, "'A B' is not a variable name"},
      {{"demo", "-o", "pdf"}, ErrorKind::usage, "'pdf'"},
      {{"demo", "--codecs", "-e", "FASTGPU_COMM_EXCHANGE=gossip"},
       ErrorKind::usage,
       "omit -e FASTGPU_COMM_EXCHANGE"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.said);
    Session session;
    std::vector<std::string> words = {"bench", "comm"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    const Error e = failure_of([&] { session.run(words); });
    CHECK(e.kind() == one.kind);
    CHECK_MESSAGE(std::string(e.what()).find(one.said) != std::string::npos, e.what());
  }
}

TEST_CASE("a page is for the commands that have one") {
  Session session;
  CHECK(failure_of([&] { session.run({"version", "-o", "html"}); }).kind() == ErrorKind::usage);
  session.variables["FASTGPU_OUTPUT"] = "html";
  CHECK(failure_of([&] { session.run({"get", "providers"}); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
