#include "launcher/frames.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "launcher/frame_text.hpp"
#include "support/damaged_frames.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using agent::FrameHeader;
using agent::FrameKind;
using agent::OutputStream;
using test::failure_of;
using test::frame;

std::string data(int rank, std::uint64_t offset, const std::string& bytes) {
  return frame(
      {.kind = FrameKind::data, .stream = OutputStream::err, .rank = rank, .offset = offset},
      bytes);
}

struct Seen {
  std::vector<FrameHeader> headers;
  std::string bytes;
  FrameDecoder decoder{[this](const FrameHeader& header, std::string_view text) {
    headers.push_back(header);
    bytes += text;
  }};
};

TEST_SUITE_BEGIN("launcher/frames");

TEST_CASE("frames are the same however they are cut") {
  const std::string binary("\0\n\xff", 3);
  const std::string text = data(0, 0, "hello\n") + data(7, 1ULL << 40, binary) + data(-1, 5, "") +
                           frame({.kind = FrameKind::end}, "");
  for (const std::size_t step : {1, 2, 5, 23, 24, 25, 30, 1000}) {
    CAPTURE(step);
    Seen seen;
    for (std::size_t at = 0; at < text.size(); at += step)
      seen.decoder.feed(std::string_view(text).substr(at, step));
    REQUIRE(seen.headers.size() == 4);
    CHECK(seen.bytes == "hello\n" + binary);
    CHECK(seen.headers[1].rank == 7);
    CHECK(seen.headers[1].offset == 1ULL << 40);
    CHECK(seen.headers[1].stream == OutputStream::err);
    CHECK(seen.headers[2].rank == agent::kLauncherRank);
    CHECK(seen.decoder.ended());
  }
}

TEST_CASE("what is no frame is refused and shown") {
  Seen seen;
  const Error e = failure_of([&] { seen.decoder.feed("Welcome to this machine, dear user\n"); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).find("Welcome to this") != std::string::npos);
}

TEST_CASE("an impossible length, rank, kind or stream is refused") {
  const std::string good = data(1, 0, "x");
  for (const std::size_t at : {0, 3, 4, 5, 6, 10, 11, 14, 15}) {
    CAPTURE(at);
    std::string bad = good;
    bad[at] = '\x7f';
    Seen seen;
    CHECK(failure_of([&] { seen.decoder.feed(bad); }).kind() == ErrorKind::remote);
  }
}

TEST_CASE("nothing may follow the last frame") {
  Seen seen;
  seen.decoder.feed(frame({.kind = FrameKind::end}, ""));
  CHECK(failure_of([&] { seen.decoder.feed("x"); }).kind() == ErrorKind::remote);
}

TEST_CASE("random bytes end in an error or in waiting, never in harm") {
  test::feed_damaged_frames<Seen>(data(1, 2, "abc") + data(3, 4, "defgh"),
                                  [](const Seen& seen) { CHECK(seen.headers.size() <= 2); });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
