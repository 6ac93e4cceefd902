// Known answers of the vendors: documents and SDK tests are named at each.
#include "provision/signing/signing.hpp"

#include <doctest/doctest.h>

#include <iterator>
#include <string>

#include "aws_cases.hpp"
#include "base/hex.hpp"
#include "provision/signing/canonical.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::signing {
namespace {

std::string authorization(const http::Request& request) {
  return std::string(http::find_header(request.headers, "authorization").value_or(""));
}

std::string signature(const http::Request& request) {
  const std::string text = authorization(request);
  return text.substr(text.rfind('=') + 1);
}

TimePoint at(std::time_t seconds) {
  return std::chrono::system_clock::from_time_t(seconds);
}

constexpr std::time_t kAwsTime = 1440938160;  // 2015-08-30T12:36:00Z

Keys aws_keys() {
  return {.access_key = "AKIDEXAMPLE",
          .secret_key = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")};
}

TEST_SUITE_BEGIN("provision/signing");

TEST_CASE("every case of AWS's own test suite is signed as AWS signs it") {
  for (const AwsCase& known : kAwsCases) {
    CAPTURE(known.name);
    http::Request request{.method = known.method,
                          .url = std::string("https://example.amazonaws.com") + known.target,
                          .body = known.body};
    for (const AwsHeader& header : known.headers)
      if (header.name != nullptr) request.headers.push_back({header.name, header.value});
    Keys keys = aws_keys();
    keys.session_token = Secret(known.session_token);

    sign_aws_v4(request, keys, "us-east-1", "service", at(kAwsTime), known.path);

    CHECK(signature(request) == known.signature);
  }
  CHECK(std::size(kAwsCases) == 30);
}

// AWS, "Create a signed request": IAM's ListUsers.
TEST_CASE("AWS's example of ListUsers has AWS's signature and names what it signs") {
  http::Request request{
      .url = "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
      .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}}};

  sign_aws_v4(request, aws_keys(), "us-east-1", "iam", at(kAwsTime));

  CHECK(authorization(request) ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date, "
        "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

// Alibaba Cloud help, "V3 request structure and signature".
TEST_CASE("Alibaba's example of RunInstances has Alibaba's signature") {
  http::Request request{.method = "POST",
                        .url =
                            "https://ecs.cn-shanghai.aliyuncs.com/?RegionId=cn-shanghai&"
                            "ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd"};
  const Keys keys{.access_key = "YourAccessKeyId", .secret_key = Secret("YourAccessKeySecret")};

  sign_alibaba(request, keys, "RunInstances", "2014-05-26", at(1698315752),
               "3156853299f313e23d1673dc12e1703d");

  CHECK(authorization(request) ==
        "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;"
        "x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,"
        "Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0");
}

// What @alicloud/ecs20140526 7.11.6 sent with temporary keys.
TEST_CASE("temporary keys of Alibaba are signed as its SDK signs them") {
  http::Request request{
      .method = "POST",
      .url =
          "http://127.0.0.1:5601/?Amount=2&DataDisk.1.Category=cloud_essd&"
          "DataDisk.1.Size=100&ImageId=img&RegionId=cn-hangzhou&Tag.1.Key=k&"
          "Tag.1.Value=v%20w&UserData=aGk%3D",
      .headers = {{"x-acs-credentials-provider", "static_sts"}, {"accept", "application/json"}}};
  const Keys keys{.access_key = "AKEXAMPLE",
                  .secret_key = Secret("SECRETKEYEXAMPLE"),
                  .session_token = Secret("TOKEN==")};

  sign_alibaba(request, keys, "RunInstances", "2014-05-26", at(1795228166),
               "efef7e7ab32dc4a0c2cf1247f05df48366eb07a3382f8758c3523e2c5bf3f481");

  CHECK(signature(request) == "73c9edeaaddb50d012e0bd382c81aa255d7f8ae660ed80b5ee44f1d8e4655a84");
}

// aliyun/darabonba-openapi-util, golang/service/service_test.go, Test_GetAuthorization.
TEST_CASE("a header that is there twice is signed once, its values joined by commas") {
  const auto headers = canonical_headers(
      {{"X-Acs-Test", "http"}, {"x-acs-test", " https "}}, [](std::string_view) { return true; },
      InnerSpaces::kept);
  const Canonical canonical{
      .method = "",
      .path = encoded_path(""),
      .query = canonical_query("test=ok&empty="),
      .headers = headers,
      .body_hash = "55e12e91650d2fec56ec74e1d3e4ddbfce2ef3a65890c2a19ecf88a307e76a23"};

  const std::string hash = sha256_hex(canonical_text(canonical));

  CHECK(hash == "de5b11a1e2e756c1d859871395fe0b6d47f2564e88a5477eb586c03c6fc105ff");
  CHECK(hex(hmac_sha256("secret", "ACS3-HMAC-SHA256\n" + hash)) ==
        "4ab59fffe3c5738ff8a2729f90cc04fe18b02a4b15b2102cbaf92f9ff3df2ea3");
}

// Tencent Cloud, "Signature v3", the example of DescribeInstances.
TEST_CASE("Tencent's example of DescribeInstances has Tencent's signature") {
  http::Request request{
      .method = "POST",
      .url = "https://cvm.tencentcloudapi.com/",
      .headers = {{"Content-Type", "application/json; charset=utf-8"},
                  {"X-TC-Action", "DescribeInstances"}},
      .body = R"({"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": )"
              R"("instance-name"}]})"};
  const Keys keys{.access_key = "AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE",
                  .secret_key = Secret("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE")};

  sign_tencent(request, keys, "cvm", at(1551113065));

  CHECK(authorization(request) ==
        "TC3-HMAC-SHA256 Credential=AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE/2019-02-25/cvm/"
        "tc3_request, SignedHeaders=content-type;host, "
        "Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168");
  CHECK(http::find_header(request.headers, "X-TC-Timestamp") == "1551113065");
  CHECK_FALSE(http::find_header(request.headers, "X-TC-Token"));
}

// What tencentcloud-sdk-nodejs-cvm 4.1.316 sent: it leaves the port out of the host that it signs.
TEST_CASE("temporary keys of Tencent are sent, and the host signed is that of the Host header") {
  http::Request request{
      .method = "POST",
      .url = "http://127.0.0.1:5601/",
      .headers = {{"Host", "127.0.0.1"}},
      .body = R"({"Placement":{"Zone":"ap-guangzhou-6"},"InstanceType":"GN7.2XLARGE32",)"
              R"("ImageId":"img-1","InstanceCount":2,"ClientToken":"abc"})"};
  const Keys keys{.access_key = "AKEXAMPLE",
                  .secret_key = Secret("SECRETKEYEXAMPLE"),
                  .session_token = Secret("TOK")};

  sign_tencent(request, keys, "127", at(1795228166));

  CHECK(signature(request) == "7800e018f158941746544e558adc0ca3026c752095617cf4ca7610f06b5d984c");
  CHECK(http::find_header(request.headers, "x-tc-token") == "TOK");
  CHECK(http::find_header(request.headers, "content-type") == "application/json");
}

// Huawei Cloud, API signing guide; huaweicloud-sdk-java-v3, TestAKSKSigner.testAKSKSigner.
TEST_CASE("Huawei's example of a list of networks has Huawei's signature") {
  http::Request request{.url =
                            "https://service.region.example.com/v1/"
                            "77b6a44cba5143ab91d13ab9a8ff44fd/vpcs?limit=2&"
                            "marker=13551d6b-755d-4757-b956-536f674975c0",
                        .headers = {{"Content-Type", "application/json"}}};
  const Keys keys{.access_key = "QTWAOYTTINDUT2QVKYUC",
                  .secret_key = Secret("MFyfvK41ba2giqM7Uio6PznpdUKGpownRZlmVmHc")};

  sign_huawei(request, keys, at(1573789015));

  CHECK(authorization(request) ==
        "SDK-HMAC-SHA256 Access=QTWAOYTTINDUT2QVKYUC, SignedHeaders=content-type;host;x-sdk-date, "
        "Signature=7be6668032f70418fcc22abc52071e57aff61b84a1d2381bb430d6870f4f6ebe");
  CHECK(request.url.find("vpcs?") != std::string::npos);
}

// What @huaweicloud/huaweicloud-sdk-ecs 3.1.172 sent.
TEST_CASE("the project's header is signed as Huawei's SDK signs it") {
  http::Request request{
      .url = "http://127.0.0.1:5601/v1/pid/cloudservers/detail?limit=10&name=a%20b",
      .headers = {{"content-type", "application/json"}, {"X-Project-Id", "pid"}}};
  const Keys keys{.access_key = "AKEXAMPLE", .secret_key = Secret("SECRETKEYEXAMPLE")};

  sign_huawei(request, keys, at(1795228167));

  CHECK(signature(request) == "4b4674f7a76118bf1874cc62f5697afed40c9797e092e12825dea075be1b57fc");
}

// huaweicloud-sdk-go-v3, core/auth/signer/signer_test.go.
TEST_CASE("Huawei's SDK signs a request of one header so") {
  const Canonical canonical{.method = "GET",
                            .path = "/path/",
                            .query = canonical_query("limit=1"),
                            .headers = {{"x-sdk-date", "20060102T150405Z"}},
                            .body_hash = sha256_hex("")};
  const std::string to_sign =
      "SDK-HMAC-SHA256\n20060102T150405Z\n" + sha256_hex(canonical_text(canonical));

  CHECK(hex(hmac_sha256("SecretKey", to_sign)) ==
        "5a2ce64c865e0e6046321c6f3d5a77ba8413eeaf355c3166c03d58d02ac79624");
}

// As before, TestSigner_canonicalQueryString.
TEST_CASE("a query is ordered by name and value and encoded anew") {
  CHECK(canonical_query("path=/tmp/123&multi=3&limit=1&multi=1&enable=true&multi=2&"
                        "test=%E4%B8%80%20(%26=?!%23%25.*)") ==
        "enable=true&limit=1&multi=1&multi=2&multi=3&path=%2Ftmp%2F123&"
        "test=%E4%B8%80%20%28%26%3D%3F%21%23%25.%2A%29");
  CHECK(canonical_query("") == "");
  CHECK(canonical_query("b&a=") == "a=&b=");
}

TEST_CASE("a request signed again bears the newer signature alone") {
  http::Request request{.method = "POST", .url = "https://ec2.us-east-1.amazonaws.com/"};
  sign_aws_v4(request, aws_keys(), "us-east-1", "ec2", at(kAwsTime));
  const http::Request first = request;

  sign_aws_v4(request, aws_keys(), "us-east-1", "ec2", at(kAwsTime));
  CHECK(request.headers == first.headers);
  sign_aws_v4(request, aws_keys(), "us-east-1", "ec2", at(kAwsTime + 1));
  CHECK(request.headers.size() == first.headers.size());
  CHECK(signature(request) != signature(first));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::signing
