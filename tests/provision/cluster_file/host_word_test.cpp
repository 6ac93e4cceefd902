#include "provision/cluster_file/host_word.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("provision/host_word");

/// "user|address|port"
std::string shown(const HostWord& word) {
  return word.user + "|" + word.address + "|" + (word.port ? std::to_string(*word.port) : "");
}

TEST_CASE("a host is read in one word") {
  const std::pair<const char*, const char*> table[] = {
      {"gpu1", "|gpu1|"},
      {"gpu1:2222", "|gpu1|2222"},
      {"ann@gpu1.lab.example:22", "ann|gpu1.lab.example|22"},
      {"ann@192.0.2.7", "ann|192.0.2.7|"},
      {"fd00::1", "|fd00::1|"},
      {"fe80::1%eth0", "|fe80::1%eth0|"},
      {"[fd00::1]", "|fd00::1|"},
      {"[fd00::1]:22", "|fd00::1|22"},
      {"ann@[fd00::1]:65535", "ann|fd00::1|65535"},
      {"my_host-1", "|my_host-1|"},
  };
  for (const auto& [text, wanted] : table) {
    CAPTURE(text);
    CHECK(shown(parse_host_word(text)) == wanted);
  }
}

TEST_CASE("a word that is no host is refused") {
  for (const char* text : {"",           "@gpu1",      "ann@",
                           "ann@@gpu1",  "gpu1:",      "gpu1:0",
                           "gpu1:65536", "gpu1:22x",   "gpu1:-1",
                           ":22",        "[fd00::1",   "[fd00::1]22",
                           "[fd00::1]:", "[]:22",      "-oProxyCommand=x",
                           "a b",        "a;b",        "-x@gpu1",
                           "n[1-2]",     "ssh://gpu1", "[fd00::1]]:22"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_host_word(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("numbers that a resolver would read as another address are refused") {
  for (const char* const text : {"010.214.77.11", "10.0.0.256", "10.0.0", "10", "ann@10.0.0.01:22"})
    CHECK(test::mentions(failure_of([&] { parse_host_word(text); }), "is not an IPv4 address"));
  CHECK(parse_host_word("10.0.0.1").address == "10.0.0.1");
  CHECK(parse_host_word("10x").address == "10x");
}

TEST_CASE("a range stands for many hosts with one user and port") {
  const auto hosts = parse_host_words("ann@n[09-10].lab:2222,login,[fd00::1]:22");
  REQUIRE(hosts.size() == 4);
  CHECK(shown(hosts[0]) == "ann|n09.lab|2222");
  CHECK(shown(hosts[1]) == "ann|n10.lab|2222");
  CHECK(shown(hosts[2]) == "|login|");
  CHECK(shown(hosts[3]) == "|fd00::1|22");
  CHECK(shown(parse_host_words("fd00::[1-2]").back()) == "|fd00::2|");
}

TEST_CASE("a range that cannot be read is refused with what is allowed") {
  for (const char* text : {"n[4-1]", "n[]", "n[1", "n1]", "n[a-b]", "n1,,n2", "n[1-2],"}) {
    CAPTURE(text);
    CHECK(test::mentions(failure_of([&] { parse_host_words(text); }), "write n[01-04]"));
  }
  CHECK(failure_of([] { parse_host_words("n[1-99999]"); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { parse_host_words("a[1-6000],b[1-6000]"); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
