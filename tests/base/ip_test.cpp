#include "base/ip.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("base/ip");

TEST_CASE("an address is read in every form and written in one") {
  CHECK(IpAddress::parse("192.0.2.7").text() == "192.0.2.7");
  CHECK(IpAddress::parse("2001:DB8:0:0::7").text() == "2001:db8::7");
  CHECK(IpAddress::parse("::").is_v6());
  CHECK(IpAddress::parse("::1") == IpAddress::parse("0:0:0:0:0:0:0:1"));
}

TEST_CASE("what is no address is refused, with what was met") {
  for (const std::string& text :
       {std::string("banana"), std::string(""), std::string("1.2.3"), std::string("1.2.3.4.5"),
        std::string("256.1.1.1"), std::string("1.2.3.4 "), std::string("1.2.3.4\nProxyCommand x"),
        std::string("1.2.3.4\0", 8), std::string("01.2.3.4"), std::string("fe80::1%eth0"),
        std::string("[::1]"), std::string("node.example"), std::string(5000, '1')}) {
    CAPTURE(text);
    const Error error = failure_of([&] { IpAddress::parse(text); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find("is not an IP address") != std::string::npos);
  }
}

TEST_CASE("a range is read, and an address alone is a range of one") {
  CHECK(IpRange::parse("192.0.2.0/24").text() == "192.0.2.0/24");
  CHECK(IpRange::parse("192.0.2.7").text() == "192.0.2.7/32");
  CHECK(IpRange::parse("2001:db8::/32").text() == "2001:db8::/32");
  CHECK(IpRange::parse("2001:db8::1").prefix() == 128);
  CHECK(IpRange::parse("10.128.0.0/9").prefix() == 9);
}

TEST_CASE("what is no range is refused") {
  for (const char* text : {"banana", "", "/", "/24", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/99",
                           "1.2.3.4/-1", "1.2.3.4/08", "1.2.3.4/8x", "1.2.3.4/24/8", "::/129",
                           "0.0.0.0/0 ", "1.2.3.4,5.6.7.8", "--dry-run", "1.2.3.4/0x8"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { IpRange::parse(text); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("bits behind the prefix are refused, with the range that is meant") {
  const Error v4 = failure_of([] { IpRange::parse("192.0.2.7/24"); });
  CHECK(std::string(v4.what()) ==
        "'192.0.2.7/24' has bits set behind its prefix: did you mean 192.0.2.0/24?");
  const Error odd = failure_of([] { IpRange::parse("10.255.0.0/9"); });
  CHECK(std::string(odd.what()).find("10.128.0.0/9") != std::string::npos);
  const Error v6 = failure_of([] { IpRange::parse("2001:db8::1/32"); });
  CHECK(std::string(v6.what()).find("2001:db8::/32") != std::string::npos);
  CHECK(failure_of([] { IpRange::parse("1.2.3.4/0"); }).kind() == ErrorKind::usage);
}

TEST_CASE("a range that has much of the world in it is known") {
  for (const char* text : {"0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "2000::/3"})
    CHECK(IpRange::parse(text).is_world());
  for (const char* text : {"10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32"})
    CHECK_FALSE(IpRange::parse(text).is_world());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
