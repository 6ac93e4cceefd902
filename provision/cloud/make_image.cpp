#include "provision/cloud/make_image.hpp"

#include "base/fault_point.hpp"
#include "provision/cloud/find_or_make.hpp"
#include "provision/observe.hpp"
#include "provision/polling.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::provision::cloud {
namespace {

using std::chrono::milliseconds;

/// The time for which an image with that name, which may be ours, may be missing from lists.
constexpr milliseconds kNameListedAtMost{10'000};

std::optional<OwnImage> look(Cloud& cloud, const std::string& region, const std::string& made_of,
                             const Cancel& cancel) {
  const auto images = cloud.own_images(region, cancel);
  const OwnImage* found = image_made_of(images, made_of);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void remove_failed(Cloud& cloud, const ImageRequest& request, const Cancel& cancel) {
  for (const OwnImage& image : cloud.own_images(request.region, cancel))
    if (image.marks.made_of == request.marks.made_of && image.state == ImageState::failed)
      cloud.remove_image(request.region, image);
}

/// Looks for as long as a cloud may take to list a requested image; empty if it does not appear.
std::string await_listing(Cloud& cloud, const ImageRequest& request, const Wait& wait,
                          milliseconds timeout, const Cancel& cancel) {
  for (Polling polling(wait);; polling.pause(cancel)) {
    if (const auto found = find_image(cloud, request.region, request.marks.made_of, cancel))
      return found->image.id;
    if (polling.waited() >= timeout) return {};
  }
}

/// Requests the image. A refusal because of the name may be the answer to an earlier request, whose
/// answer was lost or whose run was killed.
std::string ask(Cloud& cloud, const ImageRequest& request, const Wait& wait, const Cancel& cancel) {
  try {
    fault_point("bake:asking");
    cloud.make_image(request, cancel);
    fault_point("bake:asked");
    return {};
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::conflict) throw;
    std::string listed = await_listing(cloud, request, wait, kNameListedAtMost, cancel);
    if (listed.empty()) throw;
    return listed;
  }
}

OwnImage await_image(Cloud& cloud, const ImageRequest& request, const Wait& wait,
                     const Cancel& cancel, milliseconds timeout) {
  for (Polling polling(wait);; polling.pause(cancel)) {
    const auto found = look(cloud, request.region, request.marks.made_of, cancel);
    if (found && found->state == ImageState::available) return *found;
    if (found && found->state == ImageState::failed) {
      cloud.remove_image(request.region, *found);
      throw Error(ErrorKind::remote, std::string(cloud.name()) + ": image " + request.name +
                                         " could not be made: " + found->failure);
    }
    if (!found && polling.waited() >= kUnlistedAtMost)
      throw Error(ErrorKind::remote, std::string(cloud.name()) + ": image " + request.name +
                                         " was accepted but is not listed");
    if (polling.waited() >= timeout)
      throw Error(ErrorKind::timeout, std::string(cloud.name()) + ": image " + request.name +
                                          " is not available in time");
  }
}

}  // namespace

std::string digest_of(std::span<const std::string> parts) {
  constexpr std::size_t kDigits = 32;
  std::string text;
  for (const std::string& part : parts)
    text += std::to_string(part.size()) + ":" + part + "\n";
  return transfer::sha256_hex(text).substr(0, kDigits);
}

std::optional<OwnImage> find_image(Cloud& cloud, const std::string& region,
                                   const std::string& made_of, const Cancel& cancel) {
  auto found = look(cloud, region, made_of, cancel);
  if (found && found->state == ImageState::failed) return std::nullopt;
  return found;
}

OwnImage make_image(Cloud& cloud, const ImageRequest& request, Asked asked, const Wait& wait,
                    const Cancel& cancel, milliseconds timeout) {
  remove_failed(cloud, request, cancel);
  const bool is_awaited = asked == Asked::perhaps && !cloud.limits().knows_images_again;
  if (is_awaited && !await_listing(cloud, request, wait, kUnlistedAtMost, cancel).empty())
    return await_image(cloud, request, wait, cancel, timeout);
  find_or_make(
      [&] {
        const auto found = find_image(cloud, request.region, request.marks.made_of, cancel);
        return found ? found->image.id : std::string();
      },
      [&] { return ask(cloud, request, wait, cancel); }, wait, cancel);
  return await_image(cloud, request, wait, cancel, timeout);
}

}  // namespace fastgpu::provision::cloud
