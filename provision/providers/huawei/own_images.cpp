// Images that we make on Huawei Cloud. Its lists do not show tags, so that the marks are in the
// description as well.
#include <sstream>

#include "base/join.hpp"
#include "provision/polling.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::ImageState;
using cloud::OwnImage;

/// Returns "fastgpu-image=train fastgpu-made-of=...".
std::string description_of(const cloud::ImageMarks& marks) {
  std::string text;
  for (const auto& [key, value] : cloud::pairs_of(marks))
    append_item(text, std::string(key) + "=" + value, " ");
  return text;
}

cloud::ImageMarks marks_in(const std::string& description) {
  return cloud::image_marks([&](std::string_view key) -> std::string {
    std::istringstream words(description);
    for (std::string word; words >> word;)
      if (word.starts_with(key) && word.substr(key.size(), 1) == "=")
        return word.substr(key.size() + 1);
    return {};
  });
}

ImageState state_of(const std::string& status) {
  if (status == "active") return ImageState::available;
  return status == "killed" ? ImageState::failed : ImageState::pending;
}

OwnImage own_image(const Answer& item) {
  const std::string status = item["status"].text();
  OwnImage own{
      .image = {.id = item["id"].text(),
                .name = item["name"].text(),
                .architecture = item["__support_arm"].text() == "true" ? "arm64" : "x86_64",
                .created = item["created_at"].text()},
      .state = state_of(status),
      .marks = marks_in(item["__description"].text())};
  if (own.state == ImageState::failed) own.failure = status;
  return own;
}

}  // namespace

std::vector<OwnImage> HuaweiCloud::own_images(const std::string& region, const Cancel& cancel) {
  const auto listed = api_.list({.service = "ims",
                                 .region = region,
                                 .action = "ListImages",
                                 .path = "/v2/cloudimages",
                                 .query = {{"__imagetype", "private"}},
                                 .doing = "listing our images in " + region},
                                "images", cancel);
  std::vector<OwnImage> found;
  for (const JsonAnswer& each : listed) {
    OwnImage own = own_image(each.root());
    const bool is_there = !own.image.id.empty() && each.root()["status"].text() != "deleted";
    if (is_there && !own.marks.environment.empty()) found.push_back(std::move(own));
  }
  return found;
}

/// Requests an image and waits until it is listed: a failure is reported only by the cloud's job.
void HuaweiCloud::make_image(const cloud::ImageRequest& request, const Cancel& cancel) {
  json tags = json::array();
  for (const auto& [key, value] : cloud::pairs_of(request.marks))
    tags.push_back({{"key", key}, {"value", value}});
  const HuaweiCall call{.service = "ims",
                        .region = request.region,
                        .action = "CreateImage",
                        .method = "POST",
                        .path = "/v2/cloudimages/action",
                        .body = {{"name", request.name},
                                 {"instance_id", request.machine},
                                 {"description", description_of(request.marks)},
                                 {"image_tags", std::move(tags)}},
                        .holds = "job_id",
                        .doing = "making image " + request.name + " of " + request.machine,
                        .is_repeatable = false};
  const JsonAnswer answer = api_.call(call, cancel);
  const std::string id = answer["job_id"].text();
  if (id.empty())
    throw Error(ErrorKind::remote, "huawei: " + call.doing + ": the answer names no job");
  for (Polling polling(wait_);; polling.pause(cancel)) {
    const JsonAnswer told = api_.call({.service = "ims",
                                       .region = request.region,
                                       .action = "ShowJob",
                                       .path = "/v1/{project}/jobs/" + http::percent_encode(id),
                                       .holds = "status",
                                       .doing = "waiting for job " + id + " in " + request.region},
                                      cancel);
    const std::string status = told["status"].text();
    if (status == "FAIL") throw cloud::error_of(failure_of_job(told), "huawei: " + call.doing);
    const auto images = own_images(request.region, cancel);
    if (status == "SUCCESS" || cloud::image_made_of(images, request.marks.made_of) != nullptr)
      return;
  }
}

void HuaweiCloud::remove_image(const std::string& region, const OwnImage& image) {
  const HuaweiCall call{.service = "ims",
                        .region = region,
                        .action = "GlanceDeleteImage",
                        .method = "DELETE",
                        .path = "/v2/images/" + http::percent_encode(image.image.id),
                        .doing = "removing image " + image.image.id};
  const auto reply = api_.try_call(call, never_);
  const auto* failure = std::get_if<cloud::Failure>(&reply);
  if (failure != nullptr && failure->kind != cloud::FailureKind::not_found)
    throw cloud::error_of(*failure, "huawei: " + call.doing);
}

}  // namespace fastgpu::provision::huawei
