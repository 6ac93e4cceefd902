#include "http/urls.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::http {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("http/urls");

TEST_CASE("a URL is taken apart as it is written") {
  const Url url = parse_url("HTTPS://EC2.us-east-1.amazonaws.com:8443/a/%2Fb?x=1&y#top");
  CHECK(url.scheme == "https");
  CHECK(url.authority == "ec2.us-east-1.amazonaws.com:8443");
  CHECK(url.path == "/a/%2Fb");
  CHECK(url.query == "x=1&y");
  CHECK(parse_url("http://h").path.empty());
  CHECK(parse_url("http://h?a=1").query == "a=1");
}

TEST_CASE("what is no URL for HTTP is refused") {
  for (const char* text : {"", "ecs.aliyuncs.com", "ftp://h/", "http://", "http:///path",
                           "http://:80/", "http://h/\x01", "file:///etc/passwd"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { parse_url(text); });
    CHECK(e.kind() == ErrorKind::usage);
  }
}

TEST_CASE("a user name in a URL is refused and nothing secret is repeated") {
  for (const char* text :
       {"https://user:hunter2@h/?Signature=hunter2", "user:hunter2@h", "ftp://h/?x=hunter2"}) {
    const Error e = failure_of([&] { parse_url(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK_FALSE(test::mentions(e, "hunter2"));
  }
}

TEST_CASE("a host stands without its port, also where it is an address of IPv6") {
  CHECK(host_of("h:80") == "h");
  CHECK(host_of("h") == "h");
  CHECK(host_of("[::1]:80") == "[::1]");
  CHECK(host_of("[::1]") == "[::1]");
}

TEST_CASE("percent-encoding leaves what RFC 3986 calls unreserved") {
  CHECK(percent_encode("aZ09-_.~") == "aZ09-_.~");
  CHECK(percent_encode(" +*/%\xff") == "%20%2B%2A%2F%25%FF");
  CHECK(percent_decode("%20%2b%2B") == " ++");
  CHECK(percent_decode("100%") == "100%");
  CHECK(percent_decode("%zz%-1%4") == "%zz%-1%4");
}

TEST_CASE("a query encoded and parsed again is the same") {
  const Parameters parameters = {{"a b", "=&"}, {"", "x"}, {"n", ""}};
  CHECK(encode_query(parameters) == "a%20b=%3D%26&=x&n=");
  CHECK(parse_query(encode_query(parameters)) == parameters);
  CHECK(parse_query("a&&b=1=2") == Parameters{{"a", ""}, {"b", "1=2"}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::http
