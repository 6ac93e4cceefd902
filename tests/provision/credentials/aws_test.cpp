#include <doctest/doctest.h>

#include "machine.hpp"

namespace fastgpu::provision::credentials {
namespace {

using test::failure_of;
using test::mentions;

constexpr const char* kSts = "POST https://sts.eu-west-1.amazonaws.com/";
constexpr const char* kMetadata = "http://169.254.169.254/latest/";

std::string assumed(const std::string& name) {
  return "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>" + name +
         "</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-token"
         "</SessionToken><Expiration>2015-08-30T13:36:00Z</Expiration></Credentials>"
         "</AssumeRoleResult></AssumeRoleResponse>";
}

struct AwsMachine : Machine {
  Credentials find() { return find_aws(sources()); }
  Error failure() {
    return failure_of([this] { find(); });
  }
};

TEST_SUITE_BEGIN("provision/credentials/aws");

TEST_CASE_FIXTURE(AwsMachine, "the environment comes before the files") {
  variables = {{"AWS_ACCESS_KEY_ID", "AK"},
               {"AWS_SECRET_ACCESS_KEY", "SK"},
               {"AWS_SESSION_TOKEN", "T"},
               {"AWS_REGION", "us-west-2"},
               {"AWS_PROFILE", "absent"}};
  write(".aws/credentials", "[default]\naws_access_key_id=F\naws_secret_access_key=G\n");
  const Credentials found = find();
  CHECK(keys_of(found) == "AK:SK:T");
  CHECK(found.source == "AWS_ACCESS_KEY_ID");
  CHECK(found.region == "us-west-2");
  CHECK(services.sent.empty());
}

TEST_CASE_FIXTURE(AwsMachine,
                  "blanks and line ends around keys in variables are not part of them") {
  variables = {{"AWS_ACCESS_KEY_ID", " AK\r\n"},
               {"AWS_SECRET_ACCESS_KEY", "SK\n"},
               {"AWS_SESSION_TOKEN", "\tT "}};
  CHECK(keys_of(find()) == "AK:SK:T");
}

TEST_CASE_FIXTURE(AwsMachine, "what no key can have is refused by the name of its variable") {
  for (const char* odd : {"\"SK\"", "S K", "'SK'", "S\nK", "\xd0\xba"}) {
    CAPTURE(odd);
    variables = {{"AWS_ACCESS_KEY_ID", "AK"}, {"AWS_SECRET_ACCESS_KEY", odd}};
    CHECK(failure().kind() == ErrorKind::denied);
    CHECK(mentions(failure(), "AWS_SECRET_ACCESS_KEY has a blank"));
    CHECK_FALSE(mentions(failure(), odd));
  }
}

TEST_CASE_FIXTURE(AwsMachine, "half of the keys in the environment is an error") {
  variables = {{"AWS_ACCESS_KEY_ID", "AK"}};
  CHECK(failure().kind() == ErrorKind::denied);
  CHECK(mentions(failure(), "AWS_SECRET_ACCESS_KEY"));
}

TEST_CASE_FIXTURE(AwsMachine,
                  "a profile's keys come from the credentials file, its region from the config") {
  write(".aws/credentials",
        "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key = B=+/\n"
        "[dev]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n");
  write(".aws/config",
        "[default]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 20\n"
        "[profile dev]\nregion=cn-north-1\naws_access_key_id=later\n[sso-session x]\na=b\n");
  CHECK(keys_of(find()) == "A:B=+/:");
  CHECK(find().region == "eu-west-1");
  variables["AWS_PROFILE"] = "dev";
  CHECK(keys_of(find()) == "C:D:E");
  CHECK(find().region == "cn-north-1");
  CHECK(find().source == "profile dev in " + path(".aws/credentials"));
  variables["AWS_PROFILE"] = "prod";
  CHECK(failure().kind() == ErrorKind::denied);
  CHECK(mentions(failure(), "the profile prod"));
}

TEST_CASE_FIXTURE(AwsMachine,
                  "the files are where the variables say, and keys may be in the config") {
  variables = {{"AWS_SHARED_CREDENTIALS_FILE", "~/k"}, {"AWS_CONFIG_FILE", path("c")}};
  write("c", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n");
  CHECK(find().source == "profile default in " + path("c"));
  write("k", "[default]\naws_access_key_id=C\naws_secret_access_key=D\n");
  CHECK(find().source == "profile default in " + path("k"));
  write("k", "[default]\naws_access_key_id=C\n");
  CHECK(mentions(failure(), "no aws_secret_access_key"));
}

TEST_CASE_FIXTURE(AwsMachine,
                  "a broken file is said with its line, and nothing of it is repeated") {
  write(".aws/credentials", "[default]\naws_secret_access_key hunter2\n");
  const Error e = failure();
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, path(".aws/credentials") + ", line 2"));
  CHECK_FALSE(mentions(e, "hunter2"));
}

TEST_CASE_FIXTURE(AwsMachine, "a role is assumed with its source profile's keys") {
  write(".aws/credentials", "[base]\naws_access_key_id=A\naws_secret_access_key=B\n");
  write(".aws/config",
        "[default]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = base\n"
        "external_id = e d\nregion = eu-west-1\n");
  answer(kSts, assumed("ROLE"));

  const Credentials found = find();

  CHECK(keys_of(found) == "ROLE:role-secret:role-token");
  CHECK(found.expires == sources().now + std::chrono::hours(1));
  REQUIRE(services.sent.size() == 1);
  CHECK(services.sent[0].body ==
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"
        "RoleSessionName=fastgpu&ExternalId=e%20d");
  CHECK(http::find_header(services.sent[0].headers, "Authorization")
            ->starts_with("AWS4-HMAC-SHA256 Credential=A/20150830/eu-west-1/sts/aws4_request"));
}

TEST_CASE_FIXTURE(AwsMachine, "roles may lead from one to the next, but not in a ring") {
  write(".aws/config",
        "[default]\nrole_arn=arn:1\nsource_profile=two\nregion=eu-west-1\n"
        "[profile two]\nrole_arn=arn:2\nsource_profile=two\n"
        "aws_access_key_id=A\naws_secret_access_key=B\n"
        "[profile ring]\nrole_arn=arn:3\nsource_profile=ring2\n"
        "[profile ring2]\nrole_arn=arn:4\nsource_profile=ring\n"
        "[profile lost]\nrole_arn=arn:5\nsource_profile=nobody\n");
  answer(kSts, assumed("ROLE"));
  CHECK(keys_of(find()) == "ROLE:role-secret:role-token");
  CHECK(services.sent.size() == 2);
  variables["AWS_PROFILE"] = "ring";
  CHECK(mentions(failure(), "refers to itself"));
  variables["AWS_PROFILE"] = "lost";
  CHECK(mentions(failure(), "nobody, which does not exist"));
}

TEST_CASE_FIXTURE(AwsMachine,
                  "a role that is refused is said with AWS's own words, without any secret") {
  write(".aws/config",
        "[default]\nrole_arn=arn:aws:iam::1:role/x\ncredential_source=Environment\n"
        "region=eu-west-1\n");
  CHECK(mentions(failure(), "credential_source Environment has no keys"));
  write(".aws/credentials", "[base]\naws_access_key_id=A\naws_secret_access_key=hunter2\n");
  write(".aws/config",
        "[default]\nrole_arn=arn:aws:iam::1:role/x\nsource_profile=base\nregion=eu-west-1\n");
  answer(kSts,
         "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not "
         "yours</Message></Error></ErrorResponse>",
         403);
  const Error e = failure();
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(mentions(e, "AccessDenied not yours"));
  CHECK_FALSE(mentions(e, "hunter2"));
  answer(kSts, "Service Unavailable", 503);
  CHECK(failure().kind() == ErrorKind::transient);
  answer(kSts, "{}");
  CHECK(failure().kind() == ErrorKind::remote);
}

TEST_CASE_FIXTURE(AwsMachine,
                  "a token of another identity provider is exchanged without a signature") {
  write("token", "ey.J.x\n");
  variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", path("token")},
               {"AWS_ROLE_ARN", "arn:1"},
               {"AWS_REGION", "eu-west-1"}};
  answer(kSts, assumed("WEB"));
  CHECK(keys_of(find()) == "WEB:role-secret:role-token");
  CHECK(services.sent[0].body.ends_with("&WebIdentityToken=ey.J.x"));
  CHECK_FALSE(http::find_header(services.sent[0].headers, "Authorization"));
}

TEST_CASE_FIXTURE(AwsMachine, "what needs a person is refused with the command that helps") {
  write(
      ".aws/config",
      "[default]\nsso_session=s\n[profile m]\nrole_arn=arn:1\nsource_profile=m\nmfa_serial=dev\n");
  CHECK(mentions(failure(), "export-credentials --format env --profile default"));
  variables["AWS_PROFILE"] = "m";
  CHECK(mentions(failure(), "requires an MFA code from dev"));
}

TEST_CASE_FIXTURE(AwsMachine, "a program of the user's gives keys, run without a shell") {
  write("give",
        "#!/bin/sh\n[ \"$1\" = 'a $HOME; b' ] || exit 7\necho '{\"Version\": 1, \"AccessKeyId\": "
        "\"P\", \"SecretAccessKey\": \"Q\", \"SessionToken\": \"R\", \"Expiration\": "
        "\"2015-08-30T14:36:00+02:00\"}'\n");
  std::filesystem::permissions(path("give"), std::filesystem::perms::owner_all);
  write(".aws/config", "[default]\ncredential_process = \"" + path("give") + "\" 'a $HOME; b'\n");
  CHECK(keys_of(find()) == "P:Q:R");
  CHECK(find().expires == sources().now);
  write(".aws/config", "[default]\ncredential_process = " + path("give") + " other\n");
  CHECK(mentions(failure(), "exited with 7"));
  write(".aws/config", "[default]\ncredential_process = 'open\n");
  CHECK(mentions(failure(), "does not end"));
  write("give", "#!/bin/sh\necho hunter2\n");
  write(".aws/config", "[default]\ncredential_process = " + path("give") + "\n");
  CHECK(failure().kind() == ErrorKind::denied);
  CHECK_FALSE(mentions(failure(), "hunter2"));
  write(".aws/config", "[default]\ncredential_process = /nonexistent/program\n");
  CHECK(mentions(failure(), "/nonexistent/program"));
}

TEST_CASE_FIXTURE(AwsMachine, "a container's keys come from where its variables say") {
  variables = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"},
               {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "bearer"}};
  answer("GET http://169.254.170.2/v2/x",
         R"({"AccessKeyId": "C", "SecretAccessKey": "D", "Token": "E"})");
  CHECK(keys_of(find()) == "C:D:E");
  CHECK(http::find_header(services.sent[0].headers, "Authorization") == "bearer");
  CHECK(services.sent[0].direct);
  variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://elsewhere.example/x"}};
  CHECK(mentions(failure(), "use https"));
}

TEST_CASE_FIXTURE(AwsMachine, "an instance's role is asked for with a token") {
  answer(std::string("PUT ") + kMetadata + "api/token", "TOKEN");
  const std::string roles = std::string("GET ") + kMetadata + "meta-data/iam/security-credentials/";
  answer(roles, "my role\n");
  answer(roles + "my%20role",
         R"({"Code": "Success", "AccessKeyId": "I", "SecretAccessKey": "J", "Token": "K",
             "Expiration": "2015-08-30T12:36:00Z"})");
  const Credentials found = find();
  CHECK(keys_of(found) == "I:J:K");
  CHECK(found.expires == sources().now);
  for (const http::Request& request : services.sent) {
    CHECK(request.direct);
    CHECK(request.connect_limit <= std::chrono::seconds(1));
  }
  CHECK(http::find_header(services.sent.back().headers, "x-aws-ec2-metadata-token") == "TOKEN");
  answer(roles + "my%20role", R"({"Code": "AssumeRoleUnauthorizedAccess"})");
  CHECK(failure().kind() == ErrorKind::denied);
  variables["AWS_EC2_METADATA_DISABLED"] = "TRUE";
  services.sent.clear();
  CHECK(mentions(failure(), "no credentials for AWS"));
  CHECK(services.sent.empty());
}

TEST_CASE_FIXTURE(AwsMachine,
                  "nothing found says where it was looked and what to set, after one question") {
  const Error e = failure();
  CHECK(e.kind() == ErrorKind::denied);
  for (const std::string& place :
       {std::string("AWS_ACCESS_KEY_ID"), path(".aws/credentials"), path(".aws/config"),
        std::string("metadata"), std::string("run 'aws configure'")}) {
    CAPTURE(place);
    CHECK(mentions(e, place));
  }
  CHECK(services.sent.size() == 1);
  cancel.request();
  CHECK(failure().kind() == ErrorKind::interrupted);
}

TEST_CASE_FIXTURE(AwsMachine, "what is no file, or too long a one, is refused") {
  std::filesystem::create_directories(path(".aws/credentials"));
  CHECK(mentions(failure(), "is not a file"));
  std::filesystem::remove(path(".aws/credentials"));
  write(".aws/credentials", std::string((1U << 20U) + 1, '#'));
  CHECK(mentions(failure(), "over 1 MiB"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::credentials
