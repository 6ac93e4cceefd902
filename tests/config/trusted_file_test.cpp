#include "config/trusted_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "config/settings.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::config {
namespace {

using test::failure_of;

const std::optional<std::string> kYes = "yes: true\n";

std::filesystem::path write(const std::filesystem::path& path, const std::string& text,
                            mode_t mode) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

/// Reads a file of these lines as a project's file.
Settings of_project(const test::TempDirectory& temp, const std::string& text) {
  return Settings(read_layers(write(temp.path() / "fastgpu.yaml", text, 0644),
                              [](const auto&) { return std::nullopt; }, {"local", "static"}));
}

TEST_SUITE_BEGIN("config/trusted_file");

TEST_CASE("a file that only this user and its private group may write is read") {
  const test::TempDirectory temp;
  for (const mode_t mode : {0644, 0600, 0444})
    CHECK(read_trusted(write(temp.path() / std::to_string(mode), *kYes, mode)).text == kYes);
  const auto shared = write(temp.path() / "shared", *kYes, 0664);
  if (::getgid() == ::getuid()) CHECK(read_trusted(shared).text == kYes);
  std::filesystem::create_symlink(shared, temp.path() / "link");
  CHECK(read_trusted(temp.path() / "link").text.has_value() ==
        read_trusted(shared).text.has_value());
}

TEST_CASE("a file that is not there is no fault") {
  const test::TempDirectory temp;
  const TrustedFile none = read_trusted(temp.path() / "none");
  CHECK_FALSE(none.text);
  CHECK(none.reason.empty());
  CHECK(read_trusted(temp.path() / "none" / "below").reason.empty());
}

TEST_CASE("what others may write, or is no file, is not read and not waited for") {
  const test::TempDirectory temp;
  CHECK(read_trusted(write(temp.path() / "open", *kYes, 0646)).reason.starts_with("other users"));
  const auto fifo = temp.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(read_trusted(fifo).reason == "it is not a regular file");
  CHECK(read_trusted(temp.path()).reason == "it is not a regular file");
  CHECK(read_trusted("/dev/zero").reason == "it is not a regular file");
  std::filesystem::create_symlink("/dev/zero", temp.path() / "zero");
  CHECK(read_trusted(temp.path() / "zero").reason == "it is not a regular file");
  std::filesystem::create_symlink(temp.path() / "loop", temp.path() / "loop");
  CHECK_FALSE(read_trusted(temp.path() / "loop").reason.empty());
}

TEST_CASE("a file, a link and a group of another user are not trusted") {
  if (::geteuid() != 0) return;
  constexpr uid_t kOther = 4321;
  const test::TempDirectory temp;
  const auto theirs = write(temp.path() / "theirs", *kYes, 0644);
  REQUIRE(::chown(theirs.c_str(), kOther, kOther) == 0);
  CHECK(read_trusted(theirs).reason == "it belongs to another user (uid 4321)");
  const auto ours = write(temp.path() / "ours", *kYes, 0644);
  std::filesystem::create_symlink(ours, temp.path() / "link");
  REQUIRE(::lchown((temp.path() / "link").c_str(), kOther, kOther) == 0);
  CHECK(read_trusted(temp.path() / "link").reason.starts_with("it is a link"));
  std::filesystem::create_symlink(theirs, temp.path() / "to-theirs");
  CHECK_FALSE(read_trusted(temp.path() / "to-theirs").text);
  const auto grouped = write(temp.path() / "grouped", *kYes, 0664);
  REQUIRE(::chown(grouped.c_str(), 0, kOther) == 0);
  CHECK(read_trusted(grouped).reason.starts_with("other users"));
}

TEST_CASE("a project's file decides nothing that is paid for, deleted or logged in to") {
  const test::TempDirectory temp;
  const Settings settings = of_project(
      temp, "yes: true\nuser: eve\nprovider: static\nnodes: 100\ncluster: lab\nfanout: 3\n");
  CHECK_FALSE(settings.boolean("yes"));
  CHECK(settings.text("user") == "root");
  CHECK(settings.text("provider") == "local");
  CHECK(settings.integer("nodes", 1, 10'000) == 1);
  CHECK(settings.text("cluster") == "lab");
  CHECK(settings.integer("fanout", 1, 99) == 3);
  REQUIRE(settings.warnings().size() == 4);
  CHECK(settings.warnings()[0].find("fastgpu.yaml:3:11: 'provider' is ignored") !=
        std::string::npos);
}

TEST_CASE("a broken project's file stops those who ask for what it decides") {
  const test::TempDirectory temp;
  for (const char* text : {"fanuot: 3\n", "yes: maybe\n", "cluster: [\n", "- x\n", "a\0b\n",
                           "output: csv\n", "fanout: lots\n", "groups:\n  head: n0\n"}) {
    CAPTURE(text);
    const Settings settings = of_project(temp, text);
    REQUIRE(settings.warnings().size() == 1);
    CHECK(settings.warnings()[0].find("fastgpu.yaml") != std::string::npos);
    CHECK(settings.text("output") == "table");
    CHECK(settings.integer("fanout", 1, 999) == 256);
    CHECK(failure_of([&] { settings.text("cluster"); }).kind() == ErrorKind::usage);
    CHECK(failure_of([&] { settings.group("io"); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("the user's own file is named by XDG or by FASTGPU_CONFIG, and has to be trusted") {
  const test::TempDirectory temp;
  const auto file = write(temp.path() / "own.yaml", "yes: on\nuser: ada\n", 0600);
  std::string named = file;
  const auto variables = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "FASTGPU_CONFIG") return named;
    return std::nullopt;
  };
  const auto settings = [&] { return Settings(read_layers(temp.path() / "none", variables, {})); };
  CHECK(settings().boolean("yes"));
  CHECK(settings().text("user") == "ada");
  named = temp.path() / "missing";
  CHECK(failure_of(settings).kind() == ErrorKind::not_found);
  ::chmod(file.c_str(), 0666);
  named = file;
  CHECK(failure_of(settings).kind() == ErrorKind::denied);
  ::chmod(file.c_str(), 0600);
  write(file, "yes: maybe\n", 0600);
  CHECK(
      std::string(failure_of(settings).what()).find("own.yaml:1:6: 'yes' must be true or false") !=
      std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::config
