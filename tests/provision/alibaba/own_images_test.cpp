#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "http/urls.hpp"
#include "provision/api_tools.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using cloud::ImageState;

/// Answers every request of an action with the same text, and remembers them in order.
class ImageScript final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    const std::string action(http::find_header(request.headers, "x-acs-action").value_or(""));
    actions.push_back(action);
    bodies[action] = request.body;
    const std::string answer = answers.contains(action) ? answers[action] : "{}";
    return {.status = 200, .headers = {}, .body = test::with_request_id(answer)};
  }

  std::map<std::string, std::string> answers, bodies;
  std::vector<std::string> actions;
};

struct Account {
  ImageScript script;
  test::Unheard observer;
  Cancel cancel;
  AlibabaCloud cloud{test::tools_over(script, observer), ""};
};

TEST_SUITE_BEGIN("provision/alibaba");

TEST_CASE_FIXTURE(Account,
                  "our images are listed in any state, with the snapshots left of others") {
  script.answers["DescribeImages"] = R"({"Images": {"Image": [
    {"ImageId": "m-1", "ImageName": "n", "Status": "Creating",
     "Tags": {"Tag": [{"TagKey": "fastgpu-made-of", "TagValue": "abc"}]},
     "DiskDeviceMappings": {"DiskDeviceMapping": [{"SnapshotId": "s-1"}]}}]}})";
  script.answers["DescribeSnapshots"] = R"({"Snapshots": {"Snapshot": [
    {"SnapshotId": "s-9", "Tags": {"Tag": [{"TagKey": "fastgpu-left", "TagValue": "m-9"}]}}]}})";
  const auto found = cloud.own_images("cn-hangzhou", cancel);
  REQUIRE(found.size() == 2);
  CHECK(found[0].state == ImageState::pending);
  CHECK(found[0].marks.made_of == "abc");
  CHECK(found[0].snapshots == std::vector<std::string>{"s-1"});
  CHECK(found[1].state == ImageState::failed);
  CHECK(found[1].failure == "left of m-9");
  CHECK(script.bodies["DescribeImages"].find("CreateFailed") != std::string::npos);
}

TEST_CASE_FIXTURE(Account, "an image is asked for with its token") {
  cloud.make_image({.region = "cn-hangzhou",
                    .machine = "i-1",
                    .name = "fastgpu-train-abc",
                    .marks = {.environment = "train"},
                    .token = "0123"},
                   cancel);
  const std::string body = script.bodies["CreateImage"];
  CHECK(body.find("ClientToken=0123") != std::string::npos);
  CHECK(body.find("Tag.1.Key=fastgpu-image&Tag.1.Value=train") != std::string::npos);
}

TEST_CASE_FIXTURE(Account, "snapshots are marked before their image goes, and go after it") {
  cloud.remove_image("cn-hangzhou", {.image = {.id = "m-1"}, .snapshots = {"s-1"}});
  CHECK(script.actions ==
        std::vector<std::string>{"TagResources", "DeleteImage", "DeleteSnapshot"});
  CHECK(script.bodies["TagResources"].find("fastgpu-left&") != std::string::npos);
}

TEST_CASE_FIXTURE(Account, "an image whose snapshots are not told is not removed") {
  cloud::OwnImage image{.image = {.id = "m-1"}, .state = ImageState::available};
  CHECK(test::failure_of([&] { cloud.remove_image("cn-1", image); }).kind() == ErrorKind::remote);
  CHECK(script.actions.empty());
  image.state = ImageState::failed;  // It may have none.
  cloud.remove_image("cn-1", image);
  CHECK(script.actions == std::vector<std::string>{"DeleteImage"});
}

TEST_CASE_FIXTURE(Account, "a snapshot that an interrupted removal has left goes by itself") {
  cloud.remove_image("cn-hangzhou", {.image = {.id = "s-9"}, .snapshots = {"s-9"}});
  CHECK(script.actions == std::vector<std::string>{"DeleteSnapshot"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::alibaba
