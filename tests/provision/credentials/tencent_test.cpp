#include <doctest/doctest.h>

#include "machine.hpp"

namespace fastgpu::provision::credentials {
namespace {

using test::failure_of;
using test::mentions;

constexpr const char* kTencentRoles =
    "GET http://metadata.tencentyun.com/latest/meta-data/cam/security-credentials/";

struct TencentMachine : Machine {
  Credentials find() { return find_tencent(sources()); }
  Error failure() {
    return failure_of([this] { find(); });
  }
  void has_role() {
    answer(kTencentRoles, "gpu");
    answer(std::string(kTencentRoles) + "gpu",
           R"({"Code": "Success", "TmpSecretId": "I", "TmpSecretKey": "J", "Token": "K",
               "ExpiredTime": 1440938160, "Expiration": "2015-08-30T12:36:00Z"})");
  }
};

TEST_SUITE_BEGIN("provision/credentials/tencent");

TEST_CASE_FIXTURE(TencentMachine,
                  "a line end behind a key is not part of it, and a quotation mark is refused") {
  variables = {{"TENCENTCLOUD_SECRET_ID", "AK\n"}, {"TENCENTCLOUD_SECRET_KEY", " SK"}};
  CHECK(keys_of(find()) == "AK:SK:");
  variables["TENCENTCLOUD_SECRET_KEY"] = "\"SK\"";
  CHECK(mentions(failure(), "TENCENTCLOUD_SECRET_KEY has a blank"));
}

TEST_CASE_FIXTURE(TencentMachine,
                  "the environment comes before tccli's files, and those before the SDKs'") {
  write(".tencentcloud/credentials", "[default]\nsecret_id = A\nsecret_key = B\n");
  CHECK(keys_of(find()) == "A:B:");
  write(".tccli/default.credential", R"({"secretId": "C", "secretKey": "D", "token": "E"})");
  write(".tccli/default.configure", R"({"_sys_param": {"region": "ap-guangzhou"}})");
  CHECK(keys_of(find()) == "C:D:E");
  CHECK(find().region == "ap-guangzhou");
  variables = {{"TENCENTCLOUD_SECRET_ID", "F"},
               {"TENCENTCLOUD_SECRET_KEY", "G"},
               {"TENCENTCLOUD_TOKEN", "H"},
               {"TENCENTCLOUD_REGION", "ap-beijing"}};
  CHECK(keys_of(find()) == "F:G:H");
  CHECK(find().region == "ap-beijing");
}

TEST_CASE_FIXTURE(
    TencentMachine,
    "a profile of tccli may be signed in, mean the machine's role, or one that is refused") {
  variables["TCCLI_PROFILE"] = "p";
  write(".tccli/p.credential",
        R"({"type": "oauth", "secretId": "C", "secretKey": "D", "token": "E",
            "expiresAt": 1440938160})");
  CHECK(find().expires == sources().now);
  write(".tccli/p.credential", R"({"type": "cvm-role"})");
  has_role();
  CHECK(keys_of(find()) == "I:J:K");
  write(".tccli/p.credential", R"({"secretId": "C", "secretKey": "D", "role-arn": "qcs::cam"})");
  CHECK(mentions(failure(), "role-arn"));
  variables["TCCLI_PROFILE"] = "../p";
  CHECK(failure().kind() == ErrorKind::usage);
}

TEST_CASE_FIXTURE(TencentMachine, "the machine's role is asked for last") {
  CHECK(mentions(failure(), "set TENCENTCLOUD_SECRET_ID"));
  has_role();
  CHECK(keys_of(find()) == "I:J:K");
  CHECK(find().expires == sources().now);
}

TEST_CASE_FIXTURE(TencentMachine, "a broken file is said with its line") {
  write(".tccli/default.credential", "{\n\"secretKey\": \"hunter2\"\n");
  CHECK(mentions(failure(), path(".tccli/default.credential") + ", line 3"));
  CHECK_FALSE(mentions(failure(), "hunter2"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::credentials
