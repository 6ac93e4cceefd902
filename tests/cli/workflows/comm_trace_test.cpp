#include "cli/workflows/comm_trace.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "comm/trace/timeline.hpp"

namespace fastgpu::cli {
namespace {

/// A line as libfastgpu_comm writes it.
std::string line_of(const std::string& name, int row, double began, double length,
                    const std::string& args) {
  return "{\"name\":\"" + name + "\",\"ph\":\"X\",\"pid\":0,\"tid\":" + std::to_string(row) +
         ",\"ts\":" + std::to_string(began) + ",\"dur\":" + std::to_string(length) + ",\"args\":{" +
         args + "}}";
}

const std::string kHead =
    R"({"displayTimeUnit":"ms","traceEvents":[{"name":"process_name","ph":"M","pid":0,)"
    R"("args":{"name":"rank 0"}})";
const std::string kArgs = R"("step":3,"number":1,"bytes":4000)";
const std::string kSum = line_of("all-reduce", 1, 10, 2.5, kArgs);

RankTrace whole(const std::string& text) {
  return parse_trace(text, text.size());
}

TEST_SUITE_BEGIN("cli/comm_trace");

TEST_CASE("what the library writes is read as it was") {
  comm::Timeline timeline;
  const comm::Timeline::Clock::time_point at{std::chrono::milliseconds(5)};
  timeline.add({"ready", 0, 7, 11, at, at + std::chrono::nanoseconds(1'500)});
  timeline.add({"all-reduce", 2, 7, 1, at, at + std::chrono::microseconds(40), 4'000});
  std::ostringstream out;
  timeline.write(out, {3}, std::chrono::milliseconds(1));
  const RankTrace trace = whole(out.str());
  CHECK(trace.is_whole());
  CHECK(trace.unread_lines == 0);
  REQUIRE(trace.events.size() == 2);
  CHECK(trace.events[0] ==
        TraceEvent{.name = "ready", .step = 7, .number = 11, .began = 4'000'000, .length = 1'500});
  CHECK(trace.events[1] == TraceEvent{.name = "all-reduce",
                                      .row = 2,
                                      .step = 7,
                                      .number = 1,
                                      .bytes = 4'000,
                                      .began = 4'000'000,
                                      .length = 40'000});
}

TEST_CASE("a timeline without events is read, too") {
  std::ostringstream out;
  comm::Timeline().write(out, {0}, {});
  const RankTrace trace = whole(out.str());
  CHECK(trace.events.empty());
  CHECK(trace.unread_lines == 0);
  CHECK(whole("").events.empty());
}

TEST_CASE("of the end of a file the first line is incomplete, and does not count") {
  const std::string text = "ber\":1}},\n" + kSum + ",\n" + kSum + "]}\n";
  const RankTrace trace = parse_trace(text, text.size() + 1);
  CHECK_FALSE(trace.is_whole());
  CHECK(trace.events.size() == 2);
  CHECK(trace.unread_lines == 0);
  CHECK(parse_trace(kSum, kSum.size() + 1).events.empty());
}

TEST_CASE("of a file that is cut anywhere the whole events are read") {
  const std::string text = kHead + ",\n" + kSum + ",\n" + kSum + "]}\n";
  const auto second = kHead.size() + 2 + kSum.size();
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CAPTURE(size);
    const RankTrace trace = whole(text.substr(0, size));
    CHECK(trace.events.size() <= 2);
    if (size >= second) CHECK(trace.events.size() >= 1);
    CHECK(trace.unread_lines <= 1);
  }
}

TEST_CASE("a line that is no event of the library is counted and left out") {
  const std::string long_name(41, 'x');
  for (const std::string& wrong :
       {std::string("hello"),
        std::string("[1,2]"),
        std::string("{\"name\":1}"),
        std::string("{}"),
        std::string(2'000, '{'),
        std::string(2'000, ' ') + "x",
        std::string("\xff\xfe"),
        "{\"name\":\"a\xff\"" + kSum.substr(20),
        line_of("", 1, 1, 1, kArgs),
        line_of(long_name, 1, 1, 1, kArgs),
        line_of("a", -1, 1, 1, kArgs),
        line_of("a", 65, 1, 1, kArgs),
        line_of("a", 1, 1e16, 1, kArgs),
        line_of("a", 1, 1, -1, kArgs),
        line_of("a", 1, 1, 1e16, kArgs),
        line_of("a", 1, 1, 1, R"("step":-1,"number":1)"),
        line_of("a", 1, 1, 1, R"("number":1)"),
        line_of("a", 1, 1, 1, R"("step":4294967296,"number":1)"),
        line_of("a", 1, 1, 1, R"("step":"3","number":1)"),
        std::string(
            R"({"name":"a","ph":"X","tid":1,"ts":"1","dur":1,"args":{"step":1,"number":1}})"),
        std::string(R"({"name":"a","ph":1,"tid":1,"ts":1,"dur":1,"args":{"step":1,"number":1}})"),
        std::string(R"({"name":"a","ph":"X","tid":1,"ts":1,"dur":1,"args":[1]})")}) {
    CAPTURE(wrong);
    const RankTrace trace = whole(kHead + ",\n" + kSum + ",\n" + wrong + ",\n" + kSum + "]}\n");
    CHECK(trace.events.size() == 2);
    CHECK(trace.unread_lines == 1);
  }
}

TEST_CASE("bytes that are out of range or of another type are unknown") {
  for (const char* bytes : {R"("bytes":-1)", R"("bytes":"x")", R"("bytes":1.5)",
                            R"("bytes":18446744073709551615)", R"("byte":1)"}) {
    CAPTURE(bytes);
    const RankTrace trace =
        whole(line_of("a", 1, 1, 1, std::string(R"("step":1,"number":1,)") + bytes));
    REQUIRE(trace.events.size() == 1);
    CHECK(trace.events[0].bytes == 0);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
