#include "cloudsim/auth/signature.hpp"

#include <doctest/doctest.h>

#include "cloudsim/auth/digest.hpp"

namespace fastgpu::cloudsim {
namespace {

constexpr const char* kAwsSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr const char* kAwsTime = "20150830T123600Z";
constexpr const char* kAwsScope = "20150830/us-east-1/service/aws4_request";
constexpr const char* kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string aws_signature(const std::string& canonical) {
  return sigv4::signature(kAwsSecret, kAwsTime, kAwsScope, canonical);
}

TEST_SUITE_BEGIN("cloudsim/signature");

TEST_CASE("a SigV4 query is sorted by its encoded names, as in AWS's own test suite") {
  const Request request{"GET",
                        "/",
                        "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
                        {{"host", "example.amazonaws.com"}, {"x-amz-date", kAwsTime}},
                        ""};
  const std::string canonical =
      sigv4::canonical_request(request, {"host", "x-amz-date"}, kEmptyHash);
  CHECK(aws_signature(canonical) ==
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac");
}

TEST_CASE("a SigV4 form post has the signature of AWS's own test suite") {
  const std::string body = "Param1=value1";
  const Request request{"POST",
                        "/",
                        "",
                        {{"content-type", "application/x-www-form-urlencoded"},
                         {"host", "example.amazonaws.com"},
                         {"content-length", "13"},
                         {"x-amz-content-sha256", sha256_hex(body)},
                         {"x-amz-date", kAwsTime}},
                        body};
  const std::string canonical = sigv4::canonical_request(
      request, {"content-length", "content-type", "host", "x-amz-content-sha256", "x-amz-date"},
      sha256_hex(body));
  CHECK(sha256_hex(canonical) ==
        "b1edd1d03544c25390e32085d55b57acc9a3961bb59415ff86c45c3d89d16cfb");
  CHECK(aws_signature(canonical) ==
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b");
}

TEST_CASE("what the aws command line signed is found right, and not when a byte is changed") {
  Request request{"POST",
                  "/",
                  "",
                  {{"host", "127.0.0.1:5601"},
                   {"content-type", "application/x-www-form-urlencoded; charset=utf-8"},
                   {"x-amz-date", "20261121T022927Z"}},
                  "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag%3Acluster&"
                  "Filter.1.Value.1=a+b"};
  const auto signature = [&] {
    return sigv4::signature(
        "SECRETKEYEXAMPLE", "20261121T022927Z", "20261121/us-east-1/ec2/aws4_request",
        sigv4::canonical_request(request, {"content-type", "host", "x-amz-date"},
                                 sha256_hex(request.body)));
  };
  constexpr const char* kSent = "e3dea473d5e7068e595f8b410eeaee96b65c98e7bd32ace72137ce34de56e49f";
  CHECK(signature() == kSent);
  request.body.back() = 'c';
  CHECK(signature() != kSent);
}

TEST_CASE("a TC3 request has the signature of Tencent's own page") {
  const Request request{
      "POST",
      "/",
      "",
      {{"host", "cvm.tencentcloudapi.com"}, {"content-type", "application/json; charset=utf-8"}},
      R"({"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]})"};
  const std::string canonical = tc3::canonical_request(request, {"content-type", "host"});
  CHECK(sha256_hex(canonical) ==
        "5ffe6a04c0664d6b969fab9a13bdab201d63ee709638e2749d62a09ca18d7031");
  CHECK(tc3::signature("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE", "1551113065",
                       "2019-02-25/cvm/tc3_request", canonical) ==
        "72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168");
}

TEST_CASE("an Authorization header is read with and without spaces, and however broken it is") {
  const Claim claim = read_claim(
      "AWS4-HMAC-SHA256 Credential=AK/20150830/us-east-1/ec2/aws4_request, "
      "SignedHeaders=host;x-amz-date,Signature=ab");
  CHECK(claim.scheme == "AWS4-HMAC-SHA256");
  CHECK(claim.part(0) == "AK");
  CHECK(claim.part(3) == "ec2");
  CHECK(claim.part(9) == "");
  CHECK(claim.signed_headers == std::vector<std::string>{"host", "x-amz-date"});
  CHECK(claim.signature == "ab");
  for (const char* broken : {"", "AWS4", "AWS4 ", "AWS4 ,,=", "AWS4 Credential", "= =,= "})
    CHECK(read_claim(broken).signature == "");
}

TEST_CASE("percent signs are decoded where two digits follow, and kept elsewhere") {
  CHECK(percent_decode("a%20b+c%", Plus::is_space) == "a b c%");
  CHECK(percent_decode("a+%zz%4", Plus::is_plus) == "a+%zz%4");
  CHECK(percent_encode("a b/~é") == "a%20b%2F~%C3%A9");
  CHECK(base64_decode(base64_encode("any bytes")) == "any bytes");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cloudsim
