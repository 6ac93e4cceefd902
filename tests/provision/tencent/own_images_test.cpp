#include <doctest/doctest.h>

#include "provision/tencent/service.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::ImageState;
using test::failure_of;
using test::TencentAccount;

json image(const char* state) {
  return {{"ImageId", "img-1"},
          {"ImageName", "fastgpu-train-abc"},
          {"ImageState", state},
          {"Tags", json::array({{{"Key", "fastgpu-image"}, {"Value", "train"}},
                                {{"Key", "fastgpu-made-of"}, {"Value", "abc"}}})}};
}

TEST_SUITE_BEGIN("provision/tencent");

TEST_CASE_FIXTURE(TencentAccount, "our images are the private ones with our tag, in any state") {
  const std::pair<const char*, ImageState> rows[] = {{"NORMAL", ImageState::available},
                                                     {"CREATING", ImageState::pending},
                                                     {"CREATEFAILED", ImageState::failed}};
  for (const auto& [state, wanted] : rows) {
    service.reply("DescribeImages", {{"TotalCount", 1}, {"ImageSet", json::array({image(state)})}});
  }
  for (const auto& [state, wanted] : rows) {
    const auto found = cloud.own_images("ap-guangzhou", cancel);
    REQUIRE(found.size() == 1);
    CHECK(found[0].state == wanted);
    CHECK(found[0].marks.made_of == "abc");
  }
  CHECK(service.last("DescribeImages")["Filters"][1]["Values"][0] == "fastgpu-image");
}

TEST_CASE_FIXTURE(TencentAccount, "an image is made of a machine that goes on running") {
  service.reply("CreateImage", {{"ImageId", "img-1"}});
  cloud.make_image({.region = "ap-guangzhou",
                    .machine = "ins-1",
                    .name = "fastgpu-train-abc",
                    .marks = {.environment = "train", .made_of = "abc"}},
                   cancel);
  const json body = service.last("CreateImage");
  CHECK(body["InstanceId"] == "ins-1");
  CHECK(body["ForcePoweroff"] == "false");
  CHECK(body["TagSpecification"][0]["ResourceType"] == "image");
  CHECK(body["TagSpecification"][0]["Tags"][0]["Value"] == "train");
}

TEST_CASE_FIXTURE(TencentAccount, "a name that is taken is a conflict") {
  service.refuse("CreateImage", "InvalidImageName.Duplicate");
  CHECK(failure_of([&] { cloud.make_image({.region = "ap-guangzhou"}, cancel); }).kind() ==
        ErrorKind::conflict);
}

TEST_CASE_FIXTURE(TencentAccount, "an image goes with its snapshots, and may be gone already") {
  service.refuse("DeleteImages", "InvalidImageId.NotFound");
  CHECK_NOTHROW(cloud.remove_image("ap-guangzhou", {.image = {.id = "img-1"}}));
  CHECK(service.last("DeleteImages")["DeleteBindedSnap"] == true);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::tencent
