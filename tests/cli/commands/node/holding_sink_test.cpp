#include "cli/commands/node/holding_sink.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using remote::OutputChannel;

constexpr HoldingLimits kSmall{.stream = 100, .all = 80};  // 40 in common, 20 for each of two.

/// A host that says so many bytes, in pieces, and ends.
void say(HoldingSink& sink, std::size_t host, std::size_t bytes, char letter = 'x') {
  for (std::size_t said = 0; said < bytes; said += 10)
    sink.output(host, OutputChannel::out,
                std::string(std::min<std::size_t>(10, bytes - said), letter));
  sink.ended(host);
}

TEST_SUITE_BEGIN("cli/holding_sink");

TEST_CASE("what hosts say is there once they have ended, stream by stream") {
  HoldingSink sink(2, Repeats::shared);
  sink.output(1, OutputChannel::out, "a");
  sink.output(0, OutputChannel::err, "wrong");
  sink.output(1, OutputChannel::out, "b");
  sink.ended(1);
  sink.ended(0);
  CHECK(sink.held()[0].out == "");
  CHECK(sink.held()[0].err == "wrong");
  CHECK(sink.held()[1].out == "ab");
  CHECK(sink.held()[1].err == "");
  CHECK_FALSE(sink.held()[0].truncated);
  CHECK_FALSE(sink.held()[1].truncated);
}

TEST_CASE("a stream is cut at its limit, and its host is marked") {
  HoldingSink sink(1, Repeats::shared, {.stream = 25, .all = 1000});
  sink.output(0, OutputChannel::err, std::string(20, 'e'));
  say(sink, 0, 30);
  CHECK(sink.held()[0].out.size() == 25);
  CHECK(sink.held()[0].err.size() == 20);
  CHECK(sink.held()[0].truncated);
}

TEST_CASE("all hosts together keep no more than their limit") {
  for (const Repeats repeats : {Repeats::shared, Repeats::counted}) {
    HoldingSink sink(4, repeats, {.stream = 100, .all = 80});
    std::size_t kept = 0;
    for (std::size_t host = 0; host < 4; ++host) {
      say(sink, host, 50, static_cast<char>('a' + host));
      kept += sink.held()[host].out.size();
      CHECK(sink.held()[host].truncated == (sink.held()[host].out.size() < 50));
    }
    CHECK(kept == 80);
  }
}

TEST_CASE("a host that says much leaves the others their share") {
  HoldingSink sink(2, Repeats::shared, kSmall);
  say(sink, 0, 90);
  say(sink, 1, 20, 'y');
  CHECK(sink.held()[0].out.size() == 60);
  CHECK(sink.held()[0].truncated);
  CHECK(sink.held()[1].out.size() == 20);
  CHECK_FALSE(sink.held()[1].truncated);
}

TEST_CASE("both streams of a host count") {
  HoldingSink sink(2, Repeats::shared, kSmall);
  sink.output(0, OutputChannel::err, std::string(50, 'e'));
  sink.output(0, OutputChannel::out, std::string(50, 'o'));
  sink.ended(0);
  CHECK(sink.held()[0].err.size() == 50);
  CHECK(sink.held()[0].out.size() == 10);
  CHECK(sink.held()[0].truncated);
}

TEST_CASE("of equal outputs those that have ended are kept once, whatever their number") {
  HoldingSink sink(20, Repeats::shared, {.stream = 100, .all = 400});
  for (std::size_t host = 0; host < 20; ++host) {
    say(sink, host, 90);
    CHECK(sink.held()[host].out == std::string(90, 'x'));
    CHECK_FALSE(sink.held()[host].truncated);
    CHECK(sink.held()[host].out.data() == sink.held()[0].out.data());
  }
}

TEST_CASE("equal outputs that will each be written out count each") {
  HoldingSink sink(2, Repeats::counted, kSmall);
  say(sink, 0, 50);
  say(sink, 1, 50);
  CHECK_FALSE(sink.held()[0].truncated);
  CHECK(sink.held()[1].out.size() == 30);
  CHECK(sink.held()[1].truncated);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
