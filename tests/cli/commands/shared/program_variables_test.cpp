#include "cli/commands/shared/program_variables.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/pipe.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/shared/standard_input.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using Words = std::vector<std::string>;

std::optional<std::string> ours(const char* name) {
  if (std::string(name) == "HERE") return "of ours";
  if (std::string(name) == "EMPTY") return "";
  return std::nullopt;
}

TEST_SUITE_BEGIN("cli/program_variables");

TEST_CASE("a value is taken as it is, a bare name is ours, the last one wins") {
  CHECK(variables_of({.given = {"A=1", "B=x=y z\n'", "HERE", "EMPTY", "A=2"}}, ours) ==
        Words{"B=x=y z\n'", "HERE=of ours", "EMPTY=", "A=2"});
  CHECK(variables_of({}, ours).empty());
}

TEST_CASE("what is no variable is refused, without its value") {
  struct Case {
    std::string given;
    std::string said;
  };
  const std::vector<Case> cases = {
      {"A B=hush", "--env: 'A B' is not a variable name"},
      {"1A=hush", "--env: '1A' is not a variable name"},
      {"=hush", "--env: '' is not a variable name"},
      {"A-B=hush", "--env: 'A-B' is not a variable name"},
      {"", "--env: '' is not a variable name"},
      {std::string("A=hush\0", 7), "--env: the value of A has a NUL byte"},
      {"GONE", "--env: the variable GONE is not set on this machine; give it a value: GONE=VALUE"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.said);
    const Error e = failure_of([&] { variables_of({.given = {one.given}}, ours); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with(one.said));
    CHECK(std::string(e.what()).find("hush") == std::string::npos);
  }
}

TEST_CASE("a secret's value comes from here or from a file, never from the command line") {
  const fastgpu::test::TempDirectory directory;
  const std::string file = (directory.path() / "key").string();
  std::ofstream(file) << "a b=c\n\n";
  CHECK(secret_variable("HERE", ours) == "HERE=of ours");
  CHECK(secret_variable("KEY=@" + file, ours) == "KEY=a b=c\n");
  for (const std::string given : {"KEY=hush", "KEY=", "KEY=hush@hush"}) {
    const Error e = failure_of([&] { secret_variable(given, ours); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("write KEY alone, or KEY=@FILE") != std::string::npos);
    CHECK(std::string(e.what()).find("hush") == std::string::npos);
  }
  CHECK(failure_of([&] { secret_variable("KEY=@" + file + "-none", ours); }).kind() ==
        ErrorKind::not_found);
  const Error nameless = failure_of([&] { secret_variable("KEY=@", ours); });
  CHECK(nameless.kind() == ErrorKind::usage);
  CHECK(std::string(nameless.what()) ==
        "--secret KEY=@: the path of the file is missing: write KEY=@FILE");
  const std::string place = "j.yaml:1:11: 'secrets[0]'";
  const Error in_file = failure_of([&] { secret_variable("KEY=@/none", ours, place); });
  CHECK(std::string(in_file.what()).starts_with(place + " KEY: opening /none"));
  const Error gone = failure_of([] { secret_variable("GONE", ours); });
  CHECK(gone.kind() == ErrorKind::usage);
  CHECK(std::string(gone.what()) ==
        "--secret: the variable GONE is not set on this machine; give it a value: GONE=@FILE");
}

TEST_CASE("a file has a variable in each line, and flags win over it") {
  const fastgpu::test::TempDirectory directory;
  const auto path = directory.path() / "vars";
  std::ofstream(path) << "# of the job\n\nA=1\r\nB=\"x y\" # no comment\nHERE\nC=last";
  CHECK(variables_of({.given = {"A=3"}, .files = {path.string()}}, ours) ==
        Words{"B=\"x y\" # no comment", "HERE=of ours", "C=last", "A=3"});
  CHECK(variables_in("export A=1\nexport HERE\nexport=2\n", "f", ours) ==
        Words{"A=1", "HERE=of ours", "export=2"});
}

TEST_CASE("a line of a file that is no assignment is named by its number, and is not shown") {
  const auto said = [](const std::string& text) {
    return std::string(failure_of([&] { variables_in(text, "f", ours); }).what());
  };
  CHECK(said("A=1\n\nset B=hush\n").starts_with("f:3: the line does not begin with the name of"));
  CHECK(said("s3cret\n") ==
        "f:1: the line is not NAME=VALUE, and no variable of this machine has that name");
  CHECK(said("s3cret/with+signs==\n").find("s3cret") == std::string::npos);
}

TEST_CASE("a file of variables may begin with a byte order mark, and a secret keeps all bytes") {
  const fastgpu::test::TempDirectory directory;
  const auto path = directory.path() / "vars";
  std::ofstream(path) << "\xef\xbb\xbfTOKEN=abc\r\n";
  CHECK(variables_of({.files = {path.string()}}, ours) == Words{"TOKEN=abc"});
  CHECK(secret_variable("TOKEN=@" + path.string(), ours) == "TOKEN=\xef\xbb\xbfTOKEN=abc");
}

TEST_CASE("a file that is none, or is too large, is refused at once") {
  const fastgpu::test::TempDirectory directory;
  const auto fifo = directory.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto big = directory.path() / "big";
  std::ofstream(big) << "A=" << std::string(300'000, 'x');
  const auto said = [](const std::filesystem::path& path) {
    return std::string(failure_of([&] { variables_of({.files = {path.string()}}, ours); }).what());
  };
  CHECK(said(fifo).ends_with("is not a regular file"));
  CHECK(said("/dev/zero").ends_with("is not a regular file"));
  CHECK(said(directory.path()).ends_with("is not a regular file"));
  CHECK(said(big).ends_with("has more than 262144 bytes"));
  CHECK(said(directory.path() / "gone").ends_with("No such file or directory"));
}

TEST_CASE("files, pipes and sockets are passed on; terminals and devices are not") {
  const fastgpu::test::TempDirectory directory;
  std::ofstream(directory.path() / "file") << "x";
  const UniqueFd file(::open((directory.path() / "file").c_str(), O_RDONLY));
  const UniqueFd writing(::open((directory.path() / "file").c_str(), O_WRONLY));
  const UniqueFd null(::open("/dev/null", O_RDONLY));
  const UniqueFd folder(::open(directory.path().c_str(), O_RDONLY));
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  const Pipe pipe = make_pipe();
  CHECK(is_passed_on(file.get()));
  CHECK(is_passed_on(pipe.read_end.get()));
  for (const int fd :
       {writing.get(), pipe.write_end.get(), null.get(), folder.get(), terminal.get(), -1})
    CHECK_FALSE(is_passed_on(fd));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
