#include <doctest/doctest.h>

#include "provision/api_tools.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::ImageState;
using test::failure_of;
using test::mentions;

/// Answers every request with the same text.
class ImageScript final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    bodies.push_back(request.body);
    return {.status = status, .headers = {}, .body = answer};
  }

  int status = 200;
  std::string answer = "<AnyResponse/>";
  std::vector<std::string> bodies;
};

struct ImageAccount {
  ImageScript script;
  test::Unheard observer;
  Cancel cancel;
  AwsCloud cloud{test::tools_over(script, observer), {}};

  bool was_asked(const std::string& text) const {
    return script.bodies.at(0).find(text) != std::string::npos;
  }
  void refuse(const std::string& code) {
    script.status = 400;
    script.answer = "<Response><Errors><Error><Code>" + code +
                    "</Code><Message>no</Message></Error></Errors></Response>";
  }
};

TEST_SUITE_BEGIN("provision/aws");

TEST_CASE_FIXTURE(ImageAccount, "our images are our account's with our tag, in any state") {
  script.answer = R"(<DescribeImagesResponse><imagesSet>
    <item><imageId>ami-1</imageId><name>n</name><imageState>pending</imageState>
      <tagSet><item><key>fastgpu-made-of</key><value>abc</value></item></tagSet></item>
    <item><imageId>ami-2</imageId><imageState>failed</imageState>
      <stateReason><message>no space</message></stateReason></item>
    <item><imageId>ami-3</imageId><imageState>available</imageState></item>
  </imagesSet></DescribeImagesResponse>)";
  const auto found = cloud.own_images("us-east-1", cancel);
  REQUIRE(found.size() == 3);
  CHECK(found[0].state == ImageState::pending);
  CHECK(found[0].marks.made_of == "abc");
  CHECK(found[1].state == ImageState::failed);
  CHECK(found[1].failure == "no space");
  CHECK(found[2].state == ImageState::available);
  CHECK(was_asked("Owner.1=self"));
  CHECK(was_asked("Filter.1.Value.1=fastgpu-image"));
}

TEST_CASE_FIXTURE(ImageAccount,
                  "an image is made without a reboot, and its snapshots are marked too") {
  cloud.make_image({.region = "us-east-1",
                    .machine = "i-1",
                    .name = "fastgpu-train-abc",
                    .marks = {.environment = "train"}},
                   cancel);
  CHECK(was_asked("NoReboot=true"));
  CHECK(was_asked("TagSpecification.1.ResourceType=image"));
  CHECK(was_asked("TagSpecification.2.ResourceType=snapshot"));
  CHECK(was_asked("TagSpecification.2.Tag.1.Value=train"));
}

TEST_CASE_FIXTURE(ImageAccount, "a name that is taken is a conflict") {
  refuse("InvalidAMIName.Duplicate");
  const Error e = failure_of([&] { cloud.make_image({.region = "us-east-1"}, cancel); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(mentions(e, "the name is taken"));
}

TEST_CASE_FIXTURE(ImageAccount,
                  "an image goes with its snapshots in one call, and may be gone already") {
  refuse("InvalidAMIID.Unavailable");
  CHECK_NOTHROW(cloud.remove_image("us-east-1", {.image = {.id = "ami-1"}}));
  CHECK(was_asked("DeleteAssociatedSnapshots=true"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::aws
