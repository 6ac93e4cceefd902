#include <doctest/doctest.h>

#include "machine.hpp"

namespace fastgpu::provision::credentials {
namespace {

using test::failure_of;
using test::mentions;

constexpr const char* kRoles =
    "GET http://100.100.100.200/latest/meta-data/ram/security-credentials/";
constexpr const char* kToken = "PUT http://100.100.100.200/latest/api/token";

struct AlibabaMachine : Machine {
  Credentials find() { return find_alibaba(sources()); }
  Error failure() {
    return failure_of([this] { find(); });
  }
  void has_role() {
    answer(kToken, "TOKEN");
    answer(kRoles, "gpu");
    answer(std::string(kRoles) + "gpu",
           R"({"Code": "Success", "AccessKeyId": "STS.I", "AccessKeySecret": "J",
               "SecurityToken": "K", "Expiration": "2015-08-30T12:36:00Z"})");
  }
};

TEST_SUITE_BEGIN("provision/credentials/alibaba");

TEST_CASE_FIXTURE(AlibabaMachine,
                  "a line end behind a key is not part of it, and a quotation mark is refused") {
  variables = {{"ALIBABA_CLOUD_ACCESS_KEY_ID", "AK\n"}, {"ALIBABA_CLOUD_ACCESS_KEY_SECRET", " SK"}};
  CHECK(keys_of(find()) == "AK:SK:");
  variables["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] = "\"SK\"";
  CHECK(mentions(failure(), "ALIBABA_CLOUD_ACCESS_KEY_SECRET has a blank"));
}

TEST_CASE_FIXTURE(AlibabaMachine,
                  "the environment comes first, by each name that Alibaba has used") {
  variables = {{"ALICLOUD_ACCESS_KEY_ID", "OLD"}, {"ALICLOUD_ACCESS_KEY_SECRET", "S"}};
  CHECK(keys_of(find()) == "OLD:S:");
  variables["ALIBABA_CLOUD_ACCESS_KEY_ID"] = "NEW";
  CHECK(keys_of(find()) == "OLD:S:");
  variables["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] = "N";
  variables["ALIBABA_CLOUD_SECURITY_TOKEN"] = "T";
  variables["ALICLOUD_REGION_ID"] = "cn-beijing";
  CHECK(keys_of(find()) == "NEW:N:T");
  CHECK(find().region == "cn-beijing");
}

TEST_CASE_FIXTURE(AlibabaMachine, "a profile of 'aliyun configure' gives keys and a region") {
  write(".aliyun/config.json",
        R"({"current": "b", "profiles": [
             {"name": "a", "mode": "AK", "access_key_id": "A", "access_key_secret": "S",
              "sts_token": "unused", "region_id": "cn-hangzhou"},
             {"name": "b", "mode": "StsToken", "access_key_id": "B", "access_key_secret": "S",
              "sts_token": "T", "region_id": "cn-shanghai"},
             {"name": "c", "mode": "RamRoleArn", "access_key_id": "B"}]})");
  CHECK(keys_of(find()) == "B:S:T");
  CHECK(find().region == "cn-shanghai");
  CHECK(find().source == "profile b in " + path(".aliyun/config.json"));
  variables["ALIBABA_CLOUD_PROFILE"] = "a";
  CHECK(keys_of(find()) == "A:S:");
  variables["ALIBABA_CLOUD_PROFILE"] = "c";
  CHECK(failure().kind() == ErrorKind::usage);
  CHECK(mentions(failure(), "the mode RamRoleArn"));
  variables["ALIBABA_CLOUD_CLI_PROFILE_DISABLED"] = "true";
  CHECK(failure().kind() == ErrorKind::denied);
}

TEST_CASE_FIXTURE(AlibabaMachine, "a profile may mean the machine's role") {
  has_role();
  write(".aliyun/config.json",
        R"({"current": "r", "profiles": [{"name": "r", "mode": "EcsRamRole",
            "ram_role_name": "gpu"}]})");
  CHECK(keys_of(find()) == "STS.I:J:K");
  CHECK(services.sent.size() == 2);
}

TEST_CASE_FIXTURE(AlibabaMachine,
                  "a broken file is said with its line, and nothing of it is repeated") {
  write(".aliyun/config.json", "{\"current\":\n\"hunter2\" oops}");
  CHECK(failure().kind() == ErrorKind::usage);
  CHECK(mentions(failure(), path(".aliyun/config.json") + ", line 2"));
  CHECK_FALSE(mentions(failure(), "hunter2"));
  for (const char* odd : {"[]", "{\"profiles\": 1}", "{\"profiles\": [1, {\"name\": 2}]}"}) {
    write(".aliyun/config.json", odd);
    CHECK((failure().kind() == ErrorKind::usage || failure().kind() == ErrorKind::denied));
  }
}

TEST_CASE_FIXTURE(AlibabaMachine, "the SDKs' own file is read after that") {
  write(".alibabacloud/credentials",
        "[default]\nenable = true\ntype = access_key\naccess_key_id = A\naccess_key_secret = B\n"
        "[sts]\ntype=sts\naccess_key_id=C\naccess_key_secret=D\nsecurity_token=E\n"
        "[key]\ntype=rsa_key_pair\n");
  CHECK(keys_of(find()) == "A:B:");
  variables["ALIBABA_CLOUD_PROFILE"] = "sts";
  CHECK(keys_of(find()) == "C:D:E");
  variables["ALIBABA_CLOUD_PROFILE"] = "key";
  CHECK(mentions(failure(), "rsa_key_pair"));
}

TEST_CASE_FIXTURE(AlibabaMachine,
                  "the machine's role is asked for last, and not where that is forbidden") {
  has_role();
  CHECK(keys_of(find()) == "STS.I:J:K");
  CHECK(find().expires == sources().now);
  answer(kToken, "", 404);
  CHECK(keys_of(find()) == "STS.I:J:K");
  variables["ALIBABA_CLOUD_IMDSV1_DISABLED"] = "true";
  CHECK(failure().kind() == ErrorKind::denied);
  variables = {{"ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true"}};
  services.sent.clear();
  CHECK(mentions(failure(), "set ALIBABA_CLOUD_ACCESS_KEY_ID"));
  CHECK(services.sent.empty());
}

TEST_CASE_FIXTURE(AlibabaMachine, "a service of the user's gives keys") {
  variables["ALIBABA_CLOUD_CREDENTIALS_URI"] = "http://127.0.0.1:9/c";
  answer(
      "GET http://127.0.0.1:9/c",
      R"({"Code": "Success", "AccessKeyId": "U", "AccessKeySecret": "V", "SecurityToken": "W"})");
  CHECK(keys_of(find()) == "U:V:W");
  answer("GET http://127.0.0.1:9/c", "", 403);
  CHECK(mentions(failure(), "HTTP 403"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::credentials
