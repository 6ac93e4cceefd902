#include "launcher/host_list.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

std::string read_list(const std::string& text) {
  std::string shown;
  for (const NodeSlots& host : parse_host_list(text))
    shown += host.name.value + "=" + std::to_string(host.slots) + " ";
  return shown;
}

TEST_SUITE_BEGIN("launcher/host_list");

TEST_CASE("hosts are read as mpirun reads them") {
  CHECK(read_list("a:2,b:2") == "a=2 b=2 ");
  CHECK(read_list("b,a") == "b=1 a=1 ");
  CHECK(read_list("a,b,a,a:3") == "a=5 b=1 ");
  CHECK(read_list("n[0-3]:8") == "n[0-3]=8 ");
}

TEST_CASE("a host may have all slots of its node") {
  CHECK(read_list("a:*,b:auto") == "a=0 b=0 ");
  CHECK(read_list("a:2,a:*,b:*,b:3") == "a=0 b=0 ");
}

TEST_CASE("what is no list of hosts is refused with a word that shows how") {
  const auto why = [](const std::string& text) {
    const Error e = failure_of([&] { parse_host_list(text); });
    CHECK(e.kind() == ErrorKind::usage);
    return std::string(e.what());
  };
  CHECK(why("a:two") ==
        "-H: 'two' is not a number of slots from 1 to 1024 (write it like demo-0:4)");
  for (const char* text : {"a:0", "a:1025", "a:", "a:2x", "a:-1"})
    CHECK(why(text).find("is not a number of slots") != std::string::npos);
  for (const char* text : {"", ",a", "a,", ":2"})
    CHECK(why(text).find("has no host name") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
