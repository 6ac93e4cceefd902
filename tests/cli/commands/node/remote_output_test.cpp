#include "cli/commands/node/remote_output.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

struct Silent final : remote::OutputSink {
  void output(std::size_t, remote::OutputChannel, std::string_view) override {}
};

/// What is shown while the hosts of a number end one after another.
std::string shown_on(const Terminal& terminal) {
  StringSink out;
  StringSink err;
  Ui ui(out, err, terminal, [] { return std::string(); });
  Silent inner;
  const std::vector<std::string> names = {"n-0", "n-1", "n-2"};
  CountedSink sink(ui, inner, names);
  for (const std::size_t host : {1, 0, 2})
    sink.ended(host);
  CHECK(out.text.empty());
  return err.text;
}

TEST_SUITE_BEGIN("cli/remote_output");

TEST_CASE("a terminal shows who has not ended, and nothing of it at the end") {
  const std::string text = shown_on({.err = true, .err_width = 80, .live = true});
  CHECK(text.find("running on 3 nodes: 1 done, waiting for n-[0,2]") != std::string::npos);
  CHECK(text.ends_with("\r\x1b[K"));
}

TEST_CASE("without a terminal nothing is shown: every host's result comes anyway") {
  CHECK(shown_on({}).empty());
}

TEST_CASE("a line about a host names it once") {
  CHECK(host_line({"n-1"}, "no route") == "n-1: no route\n");
  CHECK(host_line({"n-1"}, "n-1: no route") == "n-1: no route\n");
  CHECK(host_line({"n-1"}, "n-1 (10.0.0.1:22): no route") == "n-1 (10.0.0.1:22): no route\n");
  CHECK(host_line({"n-1"}, "n-10: no route") == "n-1: n-10: no route\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
