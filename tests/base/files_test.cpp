#include "base/files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "base/pipe.hpp"
#include "base/unique_fd.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

using test::failure_of;
using test::mentions;

TEST_SUITE_BEGIN("base/files");

TEST_CASE("more than a pipe holds is written and read whole") {
  const std::string bytes(1 << 20, 'x');
  Pipe pipe = make_pipe();
  std::jthread writer([&] {
    write_all(pipe.write_end.get(), bytes, "writing");
    pipe.write_end = UniqueFd();
  });
  CHECK(read_to_end(pipe.read_end.get(), "reading") == bytes);
}

TEST_CASE("a text beyond the limit is read a little further, and no more") {
  const test::TempDirectory temp;
  const auto path = temp.path() / "file";
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  write_all(fd.get(), std::string(1 << 20, 'x'), "writing");
  CHECK(read_file(path)->size() == 1 << 20);
  ::lseek(fd.get(), 0, SEEK_SET);
  const std::string some = read_to_end(fd.get(), "reading", 10);
  CHECK(some.size() > 10);
  CHECK(some.size() < 1 << 20);
}

TEST_CASE("a file that is not there is absent, and another failure has its path") {
  const test::TempDirectory temp;
  CHECK_FALSE(read_file(temp.path() / "none"));
  CHECK_FALSE(read_file("/dev/null/none"));
  const Error e = failure_of([&] { read_file(temp.path()); });
  CHECK(mentions(e, "reading " + temp.path().string()));
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const Error room = failure_of([&] { write_all(full.get(), "x", "writing it"); });
  CHECK(room.kind() == ErrorKind::capacity);
  CHECK(mentions(room, "writing it"));
}

TEST_CASE("the first line of a file has no line end, and a missing file has no line") {
  const test::TempDirectory temp;
  const auto file = temp.path() / "lines";
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  write_all(fd.get(), "first\nsecond\n", "writing");
  CHECK(first_line_of(file) == "first");
  CHECK(first_line_of(temp.path() / "missing").empty());
  CHECK(first_line_of(temp.path()).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
