#include "transfer/input_frames.hpp"

#include <doctest/doctest.h>

#include "support/damaged_frames.hpp"
#include "support/failure.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;

struct Seen {
  std::vector<InputFrame> frames;
  std::string bytes;
  InputDecoder decoder{[this](const InputFrame& frame, std::string_view text) {
    frames.push_back(frame);
    bytes += text;
  }};
};

TEST_SUITE_BEGIN("transfer/input_frames");

TEST_CASE("frames of input are the same however they are cut") {
  const std::string binary("\0\n\xff", 3);
  const std::string text = to_text({.kind = InputKind::data, .offset = 1ULL << 40}, binary) +
                           to_text({.kind = InputKind::data}, "") +
                           to_text({.kind = InputKind::end, .offset = 7}, "");
  for (const std::size_t step : {1, 2, 19, 20, 21, 1000}) {
    CAPTURE(step);
    Seen seen;
    for (std::size_t at = 0; at < text.size(); at += step)
      seen.decoder.feed(std::string_view(text).substr(at, step));
    REQUIRE(seen.frames.size() == 3);
    CHECK(seen.bytes == binary);
    CHECK(seen.frames[0].offset == 1ULL << 40);
    CHECK(seen.frames[2].kind == InputKind::end);
    CHECK(failure_of([&] { seen.decoder.feed("x"); }).kind() == ErrorKind::remote);
  }
}

TEST_CASE("variables keep every byte but NUL, and are bounded") {
  const std::vector<std::string> given = {"A=", "B=a b\n'\"$\xff=x",
                                          "TOKEN=" + std::string(100'000, 'x')};
  CHECK(decode_variables(encode_variables(given)) == given);
  CHECK(decode_variables("").empty());
  const std::vector<std::string> long_one = {"BIG=" + std::string(140'000, 'x')};
  const Error e = failure_of([&] { encode_variables(long_one); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) ==
        "the variable BIG has 140004 bytes with its name; a program accepts at most 131071");
  const std::vector<std::string> many(3, given[2]);
  CHECK(std::string(failure_of([&] { encode_variables(many); }).what()).find("300021 bytes") !=
        std::string::npos);
  for (const std::string bad : {"A=1", "A", "=1", "A\0=1"})
    CHECK(failure_of([&] { decode_variables(bad); }).kind() == ErrorKind::remote);
}

TEST_CASE("random bytes of input end in an error or in waiting, never in harm") {
  test::feed_damaged_frames<Seen>(to_text({.kind = InputKind::data}, "abc"),
                                  [](const Seen& seen) { CHECK(seen.frames.size() <= 1); });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
