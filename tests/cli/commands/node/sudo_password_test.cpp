#include "cli/commands/node/sudo_password.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using std::filesystem::perms;
using test::Session;

constexpr perms kOwners = perms::owner_read | perms::owner_write;

std::string file_of(const Session& session, const std::string& text, perms mode) {
  const auto file = session.directory.path() / "password";
  std::ofstream(file) << text;
  std::filesystem::permissions(file, mode);
  return file.string();
}

TEST_SUITE_BEGIN("cli sudo password");

TEST_CASE("without a word about it there is no password") {
  Session session;
  CHECK_FALSE(sudo_password(session.context, {}));
}

TEST_CASE("the password is the first line of a file that is its owner's alone, as it stands") {
  Session session;
  const std::string file = file_of(session, " a b\r\nsecond line\n", kOwners);
  CHECK(sudo_password(session.context, {.file = file})->reveal() == " a b\r");
  CHECK(sudo_password(session.context, {.file = file_of(session, "x", kOwners)})->reveal() == "x");
}

TEST_CASE("a file that others may read, that is empty or missing is refused by its name") {
  Session session;
  const auto refusal = [&](const std::string& file) {
    return failure_of([&] { sudo_password(session.context, {.file = file}); });
  };
  for (const perms more : {perms::group_read, perms::others_read, perms::group_write}) {
    const std::string file = file_of(session, "secret\n", kOwners | more);
    CHECK(refusal(file).kind() == ErrorKind::usage);
    CHECK(mentions(refusal(file), "'" + file + "' can be read by other users: chmod 600 it"));
    CHECK_FALSE(mentions(refusal(file), "secret"));
  }
  CHECK(refusal(file_of(session, "\nsecret\n", kOwners)).kind() == ErrorKind::usage);
  CHECK(refusal("/nonexistent").kind() == ErrorKind::not_found);
}

TEST_CASE("nobody is asked where there is no terminal, also with a file beside it") {
  Session session;
  const std::string file = file_of(session, "secret\n", kOwners);
  const Error error =
      failure_of([&] { sudo_password(session.context, {.ask = true, .file = file}); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(mentions(error, "there is no terminal to ask on"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
