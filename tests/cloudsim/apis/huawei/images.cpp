// Images that all accounts can launch from, and images that an account makes by a job.
#include "cloudsim/world/images.hpp"

#include <algorithm>

#include "cloudsim/apis/huawei/call.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

/// An image with the fields that only an account's own images have.
struct Listed {
  Image image;
  std::string status = "active";
  std::string type = "gold";
  std::string description{};
};

const char* status_name(ImageStage stage) {
  switch (stage) {
    case ImageStage::creating:
      return "saving";
    case ImageStage::ready:
      return "active";
    case ImageStage::failed:
      return "killed";
  }
  return "";
}

std::vector<Listed> listed_images(const HuaweiCall& call) {
  std::vector<Listed> all;
  for (const Image& image : call.catalogue().images)
    all.push_back({.image = image});
  for (const Resource* own : images_made(call.world, call.scope))
    all.push_back({.image = image_of(*own),
                   .status = status_name(stage_of(call.world, *own)),
                   .type = "private",
                   .description = own->data.value("description", "")});
  std::ranges::sort(all, std::greater{}, [](const Listed& one) { return one.image.created; });
  return all;
}

bool is_wanted(const HuaweiCall& call, const Listed& one) {
  const MachineType* type = call.catalogue().type(call.asked("flavor_id"));
  const Image& image = one.image;
  const bool is_platform =
      one.type == "private" || image.name.starts_with(call.asked("__platform"));
  return (type == nullptr || type->architecture == image.architecture) &&
         call.asked("id", image.id) == image.id && call.asked("name", image.name) == image.name &&
         call.asked("status", one.status) == one.status &&
         call.asked("__imagetype", one.type) == one.type && is_platform;
}

Json shape(const Listed& one) {
  const Image& image = one.image;
  return {{"id", image.id},
          {"name", image.name},
          {"status", one.status},
          {"visibility", one.type == "gold" ? "public" : "private"},
          {"min_disk", image.disk_gb},
          {"created_at", image.created},
          {"updated_at", image.created},
          {"__imagetype", one.type},
          {"__description", one.description},
          {"__os_type", "Linux"},
          {"__platform", "Ubuntu"},
          {"__os_version", image.name.substr(0, image.name.find(" with"))},
          {"__support_arm", image.architecture == "arm64" ? "true" : "false"},
          {"virtual_env_type", "FusionCompute"}};
}

Answered list_images(const HuaweiCall& call) {
  std::vector<Json> images;
  for (const Listed& one : listed_images(call))
    if (is_wanted(call, one)) images.push_back(shape(one));
  return {200, marked_page(call, "images", images)};
}

Tags tags_of_image(const Json& list) {
  Tags tags;
  for (const Json& tag : list)
    tags[tag.at("key")] = tag.at("value");
  return tags;
}

/// Creates an image. Names need not be unique, so that a repetition cannot be distinguished from a
/// second request.
Answered create_image(const HuaweiCall& call) {
  for (const auto& [name, value] : call.body.items())
    if (name != "name" && name != "instance_id" && name != "description" && name != "image_tags")
      throw ProtocolViolation(400, "IMG.0015", "the body has an unknown member " + name);
  const std::string name = call.body.at("name");
  const std::string description = call.body.value("description", "");
  if (name.empty() || name.size() > 128 || description.size() > 1024 ||
      description.find_first_of("<>\n") != std::string::npos)
    throw ProtocolViolation(400, "IMG.0015", "the name or the description is none");
  const std::string of = call.body.at("instance_id");
  server(call, of);
  Resource& image =
      make_image(call.world, {.scope = call.scope,
                              .instance = of,
                              .id = new_uuid(call.world),
                              .name = name,
                              .tags = tags_of_image(call.body.value("image_tags", Json::array())),
                              .snapshot = {},
                              .name_is_unique = false});
  image.data["description"] = description;
  image.data["job"] = call.world.new_id("ff8080", 26);
  return {200, {{"job_id", image.data["job"]}}};
}

Answered show_image_job(const HuaweiCall& call) {
  const std::string& id = call.path.at("job_id");
  for (const auto& [key, image] : call.world.resources) {
    if (image.kind != "image" || image.scope != call.scope || image.data.value("job", "") != id)
      continue;
    const ImageStage stage = stage_of(call.world, image);
    Json out = {{"job_id", id}, {"job_type", "createImageByInstance"}};
    out["status"] = stage == ImageStage::creating ? "RUNNING"
                    : stage == ImageStage::ready  ? "SUCCESS"
                                                  : "FAIL";
    out["entities"] = {{"image_id", image.id}};
    if (stage == ImageStage::failed) {
      out["error_code"] = "IMG.0029";
      out["fail_reason"] = "the snapshot failed";
    }
    return {200, out};
  }
  throw Refusal(404, "IMG.0027", "The job " + id + " does not exist.");
}

Answered delete_image(const HuaweiCall& call) {
  const std::string& id = call.path.at("image_id");
  Resource* image = call.world.find(call.scope, "image", id);
  if (image == nullptr) throw Refusal(404, "IMG.0027", "The image " + id + " does not exist.");
  remove_image(call.world, *image);
  return {204, {}};
}

constexpr HuaweiAction kImagesActions[] = {
    {"ims", "ListImages", "GET", "/v2/cloudimages", "", list_images},
    {"ims", "CreateImage", "POST", "/v2/cloudimages/action", "", create_image},
    {"ims", "ShowJob", "GET", "/v1/{project_id}/jobs/{job_id}", "", show_image_job},
    {"ims", "GlanceDeleteImage", "DELETE", "/v2/images/{image_id}", "", delete_image},
};

}  // namespace

std::span<const HuaweiAction> image_actions() {
  return kImagesActions;
}

}  // namespace fastgpu::cloudsim::huawei
