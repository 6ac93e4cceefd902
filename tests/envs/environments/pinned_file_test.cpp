#include "envs/environments/pinned_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "state/directory.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

/// Answers by addresses, and remembers which it was asked for.
class FakeServers final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    asked.push_back(request.url);
    if (failure) throw *failure;
    const auto found = answers.find(request.url);
    return found == answers.end() ? http::Response{.status = 404} : found->second;
  }
  void redirect(const std::string& from, int status, const std::string& to) {
    answers[from] = {.status = status, .headers = {{"Location", to}}};
  }

  std::map<std::string, http::Response> answers;
  std::vector<std::string> asked;
  std::optional<Error> failure;
};

const std::string kContentSum = transfer::sha256_hex("content");

std::string fetched(FakeServers& servers, const std::string& url) {
  const Cancel never;
  return fetch_pinned({.url = url, .sha256 = kContentSum}, "a hint", servers, never);
}

TEST_SUITE_BEGIN("envs/pinned file");

TEST_CASE("a file is fetched from wherever its address sends us, as GitHub's releases do") {
  FakeServers servers;
  servers.redirect("https://g.example/release", 302, "https://files.example/signed?key=1");
  servers.redirect("https://files.example/signed?key=1", 307, "/there");
  servers.answers["https://files.example/there"] = {
      .status = 200, .headers = {}, .body = "content"};
  CHECK(fetched(servers, "https://g.example/release") == "content");
  CHECK(servers.asked.size() == 3);
}

TEST_CASE("what is not the file is refused, and a signed address is not told") {
  FakeServers servers;
  servers.redirect("https://g.example/release", 302, "https://files.example/signed?key=1");
  const Error missing = failure_of([&] { fetched(servers, "https://g.example/release"); });
  CHECK(missing.kind() == ErrorKind::remote);
  CHECK(std::string(missing.what()) == "HTTP 404 from https://g.example/release; a hint");
  servers.answers["https://files.example/signed?key=1"] = {
      .status = 200, .headers = {}, .body = "x"};
  const Error other = failure_of([&] { fetched(servers, "https://g.example/release"); });
  CHECK(std::string(other.what()).find("https://g.example/release has the SHA-256 ") == 0);
}

TEST_CASE("a file whose server is not reached is named, with the advice") {
  FakeServers servers;
  servers.failure.emplace(ErrorKind::not_found, "g.example: no address is found for this name");
  const Error e = failure_of([&] { fetched(servers, "https://g.example/release"); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()) ==
        "https://g.example/release cannot be fetched: g.example: no address is found for this "
        "name; a hint");
  servers.failure.emplace(ErrorKind::interrupted, "stopped");
  CHECK(std::string(failure_of([&] { fetched(servers, "https://g.example/r"); }).what()) ==
        "stopped");
}

TEST_CASE("neither a circle is followed for ever, nor a way out of TLS at all") {
  FakeServers servers;
  servers.redirect("https://g.example/circle", 301, "https://g.example/circle");
  servers.redirect("https://g.example/open", 302, "http://files.example/open");
  servers.answers["http://files.example/open"] = {.status = 200, .headers = {}, .body = "content"};
  CHECK(failure_of([&] { fetched(servers, "https://g.example/circle"); }).kind() ==
        ErrorKind::remote);
  CHECK(servers.asked.size() == 6);
  CHECK(failure_of([&] { fetched(servers, "https://g.example/open"); }).kind() ==
        ErrorKind::remote);
}

TEST_CASE("what was kept is used while it is the file, and fetched again once it is not") {
  const test::TempDirectory directory;
  const auto kept = directory.path() / "tools" / "uv.whl";
  const Cancel never;
  FakeServers servers;
  servers.answers["https://f.example/uv.whl"] = {.status = 200, .headers = {}, .body = "content"};
  const auto fetch = [&] {
    return fetch_kept({.url = "https://f.example/uv.whl", .sha256 = kContentSum}, kept, "a hint",
                      servers, never);
  };
  CHECK(fetch() == "content");
  CHECK(fetch() == "content");
  CHECK(servers.asked.size() == 1);
  std::ofstream(kept) << "something else";
  CHECK(fetch() == "content");
  CHECK(servers.asked.size() == 2);
  CHECK(read_file(kept) == "content");
  std::ofstream(kept) << "something else";
  servers.answers.clear();
  CHECK(failure_of([&] { fetch(); }).kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
