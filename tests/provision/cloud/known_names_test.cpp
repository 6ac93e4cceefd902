#include "provision/cloud/known_names.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using fastgpu::test::failure_of;

TEST_SUITE_BEGIN("provision/cloud/known_names");

TEST_CASE("names of regions, zones and types are letters, digits and a few signs") {
  for (const char* text : {"us-east-1a", "p4d.24xlarge", "ecs.gn6v-c8g1.2xlarge", "ap_1"})
    CHECK_NOTHROW(check_identifier("--zone", text));
  for (const std::string& text :
       {std::string(""), std::string("us east"), std::string("a\nb"), std::string("a&Action=x"),
        std::string("a/b"), std::string("\xc3\xa9"), std::string(65, 'a'), std::string("a'b"),
        std::string("${x}")}) {
    CAPTURE(text);
    const Error error = failure_of([&] { check_identifier("--zone", text); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).starts_with("--zone '"));
  }
}

TEST_CASE("names that users give may be nearly anything that is one line") {
  CHECK_NOTHROW(check_title("--image", "My image (2026) \xc3\xa9"));
  for (const std::string& text : {std::string(""), std::string("a\nb"), std::string("a\x1b[31m"),
                                  std::string(256, 'a'), std::string("a\0b", 3)})
    CHECK(failure_of([&] { check_title("--image", text); }).kind() == ErrorKind::usage);
}

TEST_CASE("a GPU that no cloud has is not found, with the nearest that one has") {
  test::FakeCloud cloud;
  cloud.offered = {
      {.cloud = "fake", .site = {"r1", "r1a"}, .type = {.name = "x", .gpu = "Q900", .gpus = 8}}};
  Cloud* const clouds[] = {&cloud};
  const auto check = [&](const MachineRequest& request) {
    check_gpu(clouds, "r1", request, Cancel{});
  };
  for (const char* gpu :
       {"A100", "a100", "T4", "L40S", "Q900", "NVIDIA q900", "NVIDIA Tesla V100-32G"})
    CHECK_NOTHROW(check({.gpu = gpu, .gpus = 1}));
  CHECK_NOTHROW(check({.gpu = "odd", .type = "my.type"}));
  const Error near = failure_of([&] { check({.gpu = "Q90X"}); });
  CHECK(near.kind() == ErrorKind::not_found);
  CHECK(std::string(near.what()) == "--gpus: fake has no GPU 'Q90X', did you mean Q900?");
  const Error far = failure_of([&] { check({.gpu = "banana"}); });
  CHECK(far.kind() == ErrorKind::not_found);
  CHECK(std::string(far.what()).find("H100") != std::string::npos);
}

TEST_CASE("a type with other GPUs than those that are asked for is refused") {
  const std::vector<Offer> offers = {{.type = {.name = "small", .gpu = "T4", .gpus = 1}}};
  CHECK_NOTHROW(check_gpus_of_type(offers, {.gpu = "T4", .gpus = 1, .type = "small"}));
  CHECK_NOTHROW(check_gpus_of_type(offers, {.type = "small"}));
  CHECK_NOTHROW(check_gpus_of_type(offers, {.gpu = "A100", .gpus = 1}));
  CHECK_NOTHROW(check_gpus_of_type(std::vector<Offer>{{.type = {.name = "new"}}},
                                   {.gpu = "T4", .gpus = 1, .type = "new"}));
  for (const MachineRequest& request : {MachineRequest{.gpu = "A100", .gpus = 1, .type = "small"},
                                        MachineRequest{.gpu = "T4", .gpus = 4, .type = "small"}}) {
    const Error e = failure_of([&] { check_gpus_of_type(offers, request); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("--instance-type small has 1 T4, not the GPUs"));
  }
}

TEST_CASE("a region that no cloud has is not found, with the nearest; all and none are any") {
  test::FakeCloud cloud;  // Its usual regions are those of AWS, and it tells r1 and r2.
  Cloud* const clouds[] = {&cloud};
  for (const char* region : {"", "all", "r1", "us-east-1"})
    CHECK(clouds_with_region(clouds, region, Cancel{}).size() == 1);
  const Error near = failure_of([&] { clouds_with_region(clouds, "us-esat-1", Cancel{}); });
  CHECK(near.kind() == ErrorKind::not_found);
  CHECK(std::string(near.what()) == "fake has no region 'us-esat-1', did you mean us-east-1?");
  const Error loud = failure_of([&] { clouds_with_region(clouds, "US-EAST-1", Cancel{}); });
  CHECK(std::string(loud.what()) == "fake has no region 'US-EAST-1', did you mean us-east-1?");
  const Error far = failure_of([&] { clouds_with_region(clouds, "mars", Cancel{}); });
  CHECK(std::string(far.what()).find("--region all") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
