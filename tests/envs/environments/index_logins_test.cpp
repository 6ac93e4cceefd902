#include "envs/environments/index_logins.hpp"

#include <doctest/doctest.h>

#include "agent/protocol/index_login.hpp"
#include "envs/environments/lock.hpp"
#include "envs/environments/requests.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

std::vector<std::string> revealed(const std::vector<Secret>& secrets) {
  std::vector<std::string> out;
  for (const Secret& one : secrets)
    out.push_back(one.reveal());
  return out;
}

EnvironmentSpec logins_in(const std::string& text) {
  return read_environment_spec(config::Document::parse(text, "env.yaml").root());
}

TEST_SUITE_BEGIN("envs/index_logins");

TEST_CASE("a login is told apart from its address") {
  struct Row {
    std::string address;
    std::string without;
    std::string user;
    std::string password;
  };
  for (const Row& row : {Row{"https://h/simple", "https://h/simple", "", ""},
                         {"https://joe:pw@h/simple", "https://h/simple", "joe", "pw"},
                         {"http://joe:p:w@h:80", "http://h:80", "joe", "p:w"},
                         {"https://token@h/", "https://h/", "token", ""},
                         {"https://a@b:c@h/x@y", "https://h/x@y", "a@b", "c"},
                         {"https://h/x@y", "https://h/x@y", "", ""},
                         {"https://:pw@h/", "https://h/", "", "pw"}}) {
    CAPTURE(row.address);
    CHECK(agent::without_login(row.address) == row.without);
    CHECK(agent::has_login(row.address) == (row.address != row.without));
    CHECK(agent::login_of(row.address).user == row.user);
    CHECK(agent::login_of(row.address).password == row.password);
  }
}

TEST_CASE("texts show no login, however often and in whichever spelling it is in them") {
  const std::vector<Secret> logins = {Secret("https://joe:s%40cret@h/"),
                                      Secret("https://tok3n@h/")};
  CHECK(agent::hide_logins("from 'https://joe:s%40cret@h/x' and http://a:b@c, s@cret", logins) ==
        "from 'https://****@h/x' and http://****@c, ****");
  CHECK(agent::hide_logins("401 for tok3n", logins) == "401 for ****");
  CHECK(agent::hide_logins("nothing to hide: https://h/a@b") == "nothing to hide: https://h/a@b");
}

TEST_CASE("a spec keeps the address of an index and gives its login to this run alone") {
  const auto spec = logins_in(
      "name: t\nindex: ['https://joe:s3cret@i.example/simple', https://pypi.org/simple]\n"
      "index_for: {Corp_lib: 'https://ann:0ther@c.example:8080/x'}\n");

  CHECK(spec.index ==
        std::vector<std::string>{"https://i.example/simple", "https://pypi.org/simple"});
  CHECK(to_yaml(spec).find("s3cret") == std::string::npos);
  CHECK(to_yaml(spec).find("0ther") == std::string::npos);
  CHECK(sum_of(spec) == sum_of(logins_in(to_yaml(spec))));
  CHECK(revealed(spec.logins.for_addresses(named_addresses(spec))) ==
        std::vector<std::string>{"https://joe:s3cret@i.example/simple",
                                 "https://ann:0ther@c.example:8080/x"});

  const auto conda = logins_in("name: t\nchannels: ['https://joe:s3cret@c.example/mine', forge]\n");
  CHECK(conda.channels == std::vector<std::string>{"https://c.example/mine", "forge"});
  CHECK(to_yaml(conda).find("s3cret") == std::string::npos);
}

TEST_CASE("a password where it would be stored is refused, and not shown") {
  const std::string sum(64, 'a');
  for (const std::string& text :
       {"python: {archive: 'https://joe:s3cret@p/x.tar', sha256: " + sum + "}",
        std::string("packages: ['a @ https://joe:s3cret@h/a-1-py3-none-any.whl']"),
        std::string("packages: ['https://joe:s3cret@h/a-1.whl', '# https://joe:s3cret@h']"),
        std::string("packages: ['a --index-url https://joe:s3cret@h/simple']"),
        std::string("index: 'ftp://joe:s3cret@h/'"), std::string("index: 'https://joe:s3cret@'"),
        std::string("index: 'https://joe:s3cret/x@h/'"),
        std::string("index: 'https://joe:s3cret@h/?token=s3cret'"),
        std::string("channels: ['https://h/t/s3cret/mine']"),
        std::string("channels: ['ftp://joe:s3cret@h/x']"),
        "cann: {version: 8.3.RC1, installers: [{url: 'https://joe:s3cret@h/x.run', sha256: " + sum +
            "}]}"}) {
    CAPTURE(text);
    const auto failure = failure_of([&] { logins_in("name: t\n" + text + "\n"); });
    CHECK(failure.kind() == ErrorKind::usage);
    CHECK(std::string(failure.what()).find("env.yaml:2:") == 0);
    CHECK(std::string(failure.what()).find("s3cret") == std::string::npos);
  }
}

TEST_CASE("the login for an address is that of the longest place on its host and port") {
  IndexLogins logins;
  logins.add(Secret("https://a:1@h/simple"));
  logins.add(Secret("https://b:2@h/simple/deep"));
  logins.add(Secret("https://c:3@h:8443/"));
  logins.add_netrc(Secret("machine h login d password 4\nmachine N.example login e password \"p w\""
                          "\ndefault login x password y\n"),
                   "netrc");
  struct Row {
    std::string address;
    std::string with;
  };
  for (const Row& row : {Row{"https://h/simple", "https://a:1@h/simple"},
                         {"https://h/simple/", "https://a:1@h/simple/"},
                         {"https://h/simple/deep/x", "https://b:2@h/simple/deep/x"},
                         {"https://h:8443/any", "https://c:3@h:8443/any"},
                         {"https://h/other", "https://d:4@h/other"},
                         {"https://h/simpleton", "https://d:4@h/simpleton"},
                         {"http://h/simple", "http://d:4@h/simple"},
                         {"https://n.example/", "https://e:p%20w@n.example/"},
                         {"https://else.example/", ""}}) {
    CAPTURE(row.address);
    const auto found = revealed(logins.for_addresses(std::vector{row.address}));
    CHECK(found == (row.with.empty() ? std::vector<std::string>{} : std::vector{row.with}));
  }
  CHECK(logins.authorization("https://h:8443/files/x")->reveal() == "Basic Yzoz");
  CHECK_FALSE(logins.authorization("https://else.example/x"));
}

TEST_CASE("what is no login is refused without being shown") {
  IndexLogins logins;
  for (const char* text : {"s3cret", "https://h/simple", "https://joe:s3cret@", "joe:s3cret@h"}) {
    CAPTURE(text);
    const auto failure = failure_of([&] { logins.add(Secret(text)); });
    CHECK(failure.kind() == ErrorKind::usage);
    CHECK(std::string(failure.what()).find("s3cret") == std::string::npos);
  }
  for (const char* text :
       {"joe s3cret", "login s3cret", "machine h login", "machine h user s3cret"}) {
    CAPTURE(text);
    const auto failure = failure_of([&] { logins.add_netrc(Secret(text), "x.netrc"); });
    CHECK(test::mentions(failure, "x.netrc: is not a netrc file"));
    CHECK(std::string(failure.what()).find("s3cret") == std::string::npos);
  }
  logins.add_netrc(
      Secret("# a comment\nmachine h login a password b account c\nmacdef init\ncd x\n\n"
             "machine i login d password e\n"),
      "netrc");
  CHECK(
      revealed(logins.for_addresses(std::vector<std::string>{"https://h/", "https://i/"})).size() ==
      2);
}

TEST_CASE("a netrc file may begin with a byte order mark") {
  IndexLogins logins;
  logins.add_netrc(Secret("\xef\xbb\xbfmachine h login a password b\r\n"), "netrc");
  CHECK(revealed(logins.for_addresses(std::vector<std::string>{"https://h/"})).size() == 1);
}

TEST_CASE("a build gets the logins of the hosts that its files come from") {
  IndexLogins logins;
  logins.add(Secret("https://joe:s3cret@i.example/simple"));
  EnvironmentLock lock{.spec = logins_in("name: t\nindex: https://i.example/simple\n"),
                       .builder = "uv",
                       .fastgpu = "1",
                       .machine = "x86_64",
                       .libc = "glibc 2.36",
                       .python = "/usr/bin/python3",
                       .python_version = "3.11.2",
                       .artefacts = {{.package = "a",
                                      .version = "1",
                                      .url = "https://i.example/files/a-1-py3-none-any.whl",
                                      .sha256 = std::string(64, 'a')}}};
  const auto build = build_request(lock, "/opt/envs", "tools", std::chrono::seconds(1), logins);

  CHECK(revealed(build.builder.logins) ==
        std::vector<std::string>{"https://joe:s3cret@i.example/",
                                 "https://joe:s3cret@i.example/simple"});
  CHECK(build.recipe.find("s3cret") == std::string::npos);
  CHECK(build.lock.find("s3cret") == std::string::npos);
  CHECK(build.solution.find("s3cret") == std::string::npos);

  const auto same = agent::parse_build_request(to_records(build));
  CHECK(revealed(same.builder.logins) == revealed(build.builder.logins));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
