#include "remote/shared_input.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fstream>

#include "base/files.hpp"
#include "base/pipe.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::remote {
namespace {

using test::failure_of;

void put(const Pipe& pipe, std::string_view text) {
  write_all(pipe.write_end.get(), text, "writing to the pipe");
}

/// The next piece that is not empty, waiting as a client does; "END" at the end.
std::string next(SharedInput& input, std::size_t taker) {
  for (;;) {
    const auto piece = input.take(taker);
    if (!piece) return "END";
    if (!piece->bytes.empty()) return piece->bytes;
    pollfd fd{input.wake(), POLLIN, 0};
    REQUIRE(::poll(&fd, 1, 10'000) == 1);
    eventfd_t count = 0;
    ::eventfd_read(input.wake(), &count);
  }
}

TEST_SUITE_BEGIN("remote/shared_input");

TEST_CASE("each taker gets every byte, and the end") {
  Pipe pipe = make_pipe();
  SharedInput input(pipe.read_end.get(), 2);
  CHECK(input.take(0)->bytes.empty());
  put(pipe, "one");
  CHECK(next(input, 0) == "one");
  input.finish(0, 3);
  put(pipe, std::string("\0\n", 2));
  CHECK(next(input, 0) == std::string("\0\n", 2));
  pipe.write_end = UniqueFd();
  CHECK(next(input, 0) == "END");
  CHECK(next(input, 1).starts_with("one"));
  std::string rest;
  for (std::string piece; (piece = next(input, 1)) != "END";)
    rest += piece;
  CHECK(next(input, 1) == "END");
}

TEST_CASE("what is not finished with can be taken again") {
  Pipe pipe = make_pipe();
  SharedInput input(pipe.read_end.get(), 1);
  put(pipe, "abcdef");
  CHECK(next(input, 0) == "abcdef");
  input.finish(0, 4);
  input.finish(0, 2);    // Late news changes nothing.
  input.finish(0, 400);  // Nor does nonsense.
  put(pipe, "gh");
  CHECK(next(input, 0) == "gh");
  input.finish(0, 6);
  input.rewind(0);
  const auto again = input.take(0);
  REQUIRE(again.has_value());
  CHECK(again->offset == 6);
  CHECK(again->bytes == "gh");
}

TEST_CASE("no more is read ahead of the slowest than the limit, until it has left") {
  const test::TempDirectory directory;
  const auto path = directory.path() / "big";
  std::ofstream(path) << std::string(4 * SharedInput::kMost, 'x');
  const UniqueFd file(::open(path.c_str(), O_RDONLY));
  SharedInput input(file.get(), 2);
  std::size_t taken = 0;
  for (int idle = 0; idle < 50;) {
    const auto piece = input.take(0);
    REQUIRE(piece.has_value());
    taken += piece->bytes.size();
    input.finish(0, taken);
    idle = piece->bytes.empty() ? idle + 1 : 0;
    if (piece->bytes.empty()) ::poll(nullptr, 0, 2);
  }
  CHECK(taken <= SharedInput::kMost);
  input.leave(1);
  while (const auto piece = input.take(0)) {
    taken += piece->bytes.size();
    input.finish(0, taken);
    if (piece->bytes.empty()) ::poll(nullptr, 0, 1);
  }
  CHECK(taken == 4 * SharedInput::kMost);
}

TEST_CASE("input that cannot be read is an error for each taker") {
  const UniqueFd directory(::open("/", O_RDONLY));
  SharedInput input(directory.get(), 1);
  const Error e = failure_of([&] { next(input, 0); });
  CHECK(std::string(e.what()).starts_with("reading standard input: "));
}

TEST_CASE("it ends at once while its input is silent") {
  Pipe pipe = make_pipe();
  const SharedInput input(pipe.read_end.get(), 1);
}

TEST_CASE("it ends while another reads from the same pipe, whose settings stay as they are") {
  Pipe pipe = make_pipe();
  {
    const SharedInput input(pipe.read_end.get(), 1);
    for (int i = 0; i < 200; ++i) {
      put(pipe, "x");
      pollfd fd{pipe.read_end.get(), POLLIN, 0};
      char c = 0;  // Whoever comes first takes it.
      if (::poll(&fd, 1, 0) == 1 && i % 2 == 0) {
        ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
        (void)!::read(pipe.read_end.get(), &c, 1);
        ::fcntl(pipe.read_end.get(), F_SETFL, 0);
      }
    }
  }
  CHECK((::fcntl(pipe.read_end.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("framed, it is what the agent reads, the end included") {
  Pipe pipe = make_pipe();
  SharedInput input(pipe.read_end.get(), 1);
  put(pipe, "hello");
  pipe.write_end = UniqueFd();
  const auto next_input = framed_input(input, 0, Finished::at_once);
  std::string bytes;
  int ends = 0;
  transfer::InputDecoder decoder([&](const transfer::InputFrame& frame, std::string_view text) {
    bytes += text;
    if (frame.kind == transfer::InputKind::end) ++ends;
  });
  while (const auto piece = next_input())
    decoder.feed(*piece);
  CHECK(bytes == "hello");
  CHECK(ends == 1);
  CHECK_FALSE(next_input().has_value());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::remote
