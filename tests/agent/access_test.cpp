// Our line in ~/.ssh/authorized_keys: put in, taken out, all else as it was.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "support/agent_process.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::run_agent;
using test::ScratchHome;
using test::write_file;

const std::string kMark = "fastgpu-0badcafe-1";
const std::string kLine = "ssh-ed25519 AAAAkey " + kMark;

fs::path keys_of(const ScratchHome& home) {
  return home.path() / ".ssh" / "authorized_keys";
}

void add(const ScratchHome& home, const std::string& line = kLine) {
  const auto done = run_agent(home, {"access-add", line});
  CHECK_MESSAGE(done.status.ok(), done.err);
}

void remove(const ScratchHome& home, const std::string& mark = kMark) {
  const auto done = run_agent(home, {"access-remove", mark, "0badcafe"});
  CHECK_MESSAGE(done.status.ok(), done.err);
}

TEST_SUITE_BEGIN("agent/access");

TEST_CASE("a line is added once, and taking it out restores the file byte for byte") {
  const std::string foreign = "ssh-ed25519 AAAAother fastgpu-0badcafe-10\n";
  const std::vector<std::string> texts = {"",
                                          "\n",
                                          foreign,
                                          "# mine\r\n\n" + foreign,
                                          "no end",
                                          foreign + "ssh-rsa BBBB a b c",
                                          std::string("a\0b\xff\n", 5)};
  for (const std::string& before : texts) {
    CAPTURE(before);
    const ScratchHome home;
    write_file(keys_of(home), before);
    add(home);
    const std::string with = read_text(keys_of(home));
    CHECK(with.starts_with(before));
    CHECK(with.find(kLine) != std::string::npos);
    add(home);
    CHECK(read_text(keys_of(home)) == with);
    remove(home);
    CHECK(read_text(keys_of(home)) == before);
    remove(home);
    CHECK(read_text(keys_of(home)) == before);
  }
}

TEST_CASE("what others write meanwhile stays, and so do other nodes' lines") {
  const ScratchHome home;
  write_file(keys_of(home), "first\n");
  add(home);
  add(home, "ssh-ed25519 AAAAkey fastgpu-0badcafe-2");
  write_file(keys_of(home), read_text(keys_of(home)) + "last\n");
  remove(home);
  CHECK(read_text(keys_of(home)) == "first\nssh-ed25519 AAAAkey fastgpu-0badcafe-2\nlast\n");
}

TEST_CASE("a new key under the same mark takes the place of the old one") {
  const ScratchHome home;
  add(home);
  add(home, "ssh-ed25519 AAAAnew " + kMark);
  CHECK(read_text(keys_of(home)).find("AAAAkey") == std::string::npos);
  CHECK(read_text(keys_of(home)).find("AAAAnew") != std::string::npos);
}

TEST_CASE("options that the owner has put before our line are respected, and go with it") {
  const ScratchHome home;
  const std::string restricted = "from=\"10.0.0.1\" " + kLine + "\n";
  write_file(keys_of(home), restricted);
  add(home);
  CHECK(read_text(keys_of(home)) == restricted);
  remove(home);
  CHECK(read_text(keys_of(home)).empty());
}

TEST_CASE("a file that was made for the line goes with it, unless others use it by then") {
  const ScratchHome home;
  add(home);
  struct stat status {};
  REQUIRE(::stat(keys_of(home).c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  REQUIRE(::stat(keys_of(home).parent_path().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  remove(home);
  CHECK_FALSE(fs::exists(keys_of(home)));
  add(home);
  write_file(keys_of(home), read_text(keys_of(home)) + "other\n");
  remove(home);
  CHECK(read_text(keys_of(home)) == "other\n");
}

TEST_CASE("the file keeps its mode, and a symbolic link stays one") {
  const ScratchHome home;
  const fs::path real = home.path() / "dotfiles" / "keys";
  write_file(real, "first\n");
  ::chmod(real.c_str(), 0640);
  fs::create_directories(home.path() / ".ssh");
  fs::create_symlink("../dotfiles/keys", keys_of(home));
  add(home);
  CHECK(fs::is_symlink(keys_of(home)));
  CHECK(read_text(real) == "first\n" + kLine + "\n");
  struct stat status {};
  REQUIRE(::stat(real.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  remove(home);
  CHECK(read_text(real) == "first\n");
}

TEST_CASE("a link that leads nowhere is refused and stays") {
  const ScratchHome home;
  fs::create_directories(home.path() / ".ssh");
  fs::create_symlink("nowhere", keys_of(home));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"access-check"}, std::vector<std::string>{"access-add", kLine}}) {
    const auto done = run_agent(home, words);
    CHECK(done.status.code == 1);
    CHECK(done.err.find("leads nowhere") != std::string::npos);
  }
  CHECK(fs::is_symlink(keys_of(home)));
  CHECK_FALSE(fs::exists(home.path() / ".ssh" / "nowhere"));
}

TEST_CASE("a check changes nothing, and what is no line is refused") {
  const ScratchHome home;
  CHECK(run_agent(home, {"access-check"}).status.ok());
  CHECK_FALSE(fs::exists(home.path() / ".ssh"));
  CHECK(run_agent(home, {"access-add", "ssh-ed25519 A\nssh-ed25519 B x"}).status.code == 2);
  CHECK(run_agent(home, {"access-add", "command"}).status.code == 2);
  CHECK(run_agent(home, {"access-remove", kMark, "../.."}).status.code == 2);
}

TEST_CASE("a host is the same for two logins only if they have the same home directory") {
  const ScratchHome home, other;
  const std::string first = run_agent(home, {"access-check"}).out;
  CHECK(first.size() > 1);
  CHECK(first.find('\n') == first.size() - 1);
  CHECK(run_agent(home, {"access-check"}).out == first);
  CHECK(run_agent(home, {"access-identify"}).out == first);
  CHECK(run_agent(other, {"access-check"}).out != first);
}

TEST_CASE("what a killed run left beside the file goes with the line") {
  const ScratchHome home;
  write_file(keys_of(home), "first\n");
  write_file(keys_of(home).string() + ".fastgpu", "half");
  remove(home);
  CHECK_FALSE(fs::exists(keys_of(home).string() + ".fastgpu"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
