#include "base/secret_text.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/secret_text");

TEST_CASE("a name sounds like a secret in whatever case it is written") {
  for (const char* name : {"WANDB_API_KEY", "HF_TOKEN", "db_password", "AWS_SECRET_ACCESS_KEY",
                           "GOOGLE_APPLICATION_CREDENTIALS", "PROXY_AUTH"})
    CHECK_MESSAGE(sounds_secret(name), name);
  for (const char* name : {"", "HOME", "LEARNING_RATE", "NCCL_SOCKET_IFNAME"})
    CHECK_FALSE_MESSAGE(sounds_secret(name), name);
}

TEST_CASE("secrets are left out, each line of them as well") {
  CHECK(without_secrets("token=s3cret, again s3cret", {"s3cret"}) == "token=***, again ***");
  CHECK(without_secrets("a line of a key: BBBB", {"AAAA\nBBBB\n"}) == "a line of a key: ***");
  CHECK(without_secrets("the 1 of 10", {"1", "", "the"}) == "the 1 of 10");
  CHECK(without_secrets("*** and ***", {"****", "***"}) == "*** and ***");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
