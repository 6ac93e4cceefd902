#include <doctest/doctest.h>

#include "machine.hpp"

namespace fastgpu::provision::credentials {
namespace {

using test::failure_of;
using test::mentions;

constexpr const char* kBase = "http://169.254.169.254";

struct HuaweiMachine : Machine {
  Credentials find() { return find_huawei(sources()); }
  Error failure() {
    return failure_of([this] { find(); });
  }
};

TEST_SUITE_BEGIN("provision/credentials/huawei");

TEST_CASE_FIXTURE(HuaweiMachine,
                  "a line end behind a key is not part of it, and a quotation mark is refused") {
  variables = {{"HUAWEICLOUD_SDK_AK", "AK\n"}, {"HUAWEICLOUD_SDK_SK", " SK"}};
  CHECK(keys_of(find()) == "AK:SK:");
  variables["HUAWEICLOUD_SDK_SK"] = "\"SK\"";
  CHECK(mentions(failure(), "HUAWEICLOUD_SDK_SK has a blank"));
}

TEST_CASE_FIXTURE(HuaweiMachine, "the environment comes before the file, and names the project") {
  write(".huaweicloud/credentials",
        "[basic]\nak = A\nsk = B\nproject_id = P\nsecurity_token = T\n"
        "[global]\nak = C\nsk = D\ndomain_id = E\n");
  CHECK(keys_of(find()) == "A:B:T");
  CHECK(find().project_id == "P");
  variables["HUAWEICLOUD_SDK_PROJECT_ID"] = "Q";
  CHECK(find().project_id == "Q");
  variables["HUAWEICLOUD_SDK_AK"] = "X";
  variables["HUAWEICLOUD_SDK_SK"] = "Y";
  variables["HUAWEICLOUD_SDK_DOMAIN_ID"] = "Z";
  CHECK(keys_of(find()) == "X:Y:");
  CHECK(find().domain_id == "Z");
}

TEST_CASE_FIXTURE(HuaweiMachine, "keys of a whole domain serve where there are none of a project") {
  variables["HUAWEICLOUD_SDK_CREDENTIALS_FILE"] = path("keys");
  write("keys", "[global]\nak = C\nsk = D\ndomain_id = E\n");
  CHECK(keys_of(find()) == "C:D:");
  CHECK(find().domain_id == "E");
  CHECK(find().source == "[global] in " + path("keys"));
}

TEST_CASE_FIXTURE(HuaweiMachine,
                  "the machine's agency is asked for last, by a token or without one") {
  CHECK(mentions(failure(), "set HUAWEICLOUD_SDK_AK"));
  const std::string keys = std::string("GET ") + kBase + "/openstack/latest/securitykey";
  answer(std::string("PUT ") + kBase + "/meta-data/latest/api/token", "TOKEN");
  answer(keys, R"({"credential": {"access": "I", "secret": "J", "securitytoken": "K",
                   "expires_at": "2015-08-30T12:36:00.123000Z"}})");
  CHECK(keys_of(find()) == "I:J:K");
  CHECK(find().expires == sources().now);
  CHECK(http::find_header(services.sent.back().headers, "X-Metadata-Token") == "TOKEN");
  answer(std::string("PUT ") + kBase + "/meta-data/latest/api/token", "", 405);
  CHECK(keys_of(find()) == "I:J:K");
  CHECK(services.sent.back().headers.empty());
  answer(keys, R"({"credential": 3})");
  CHECK(failure().kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::credentials
