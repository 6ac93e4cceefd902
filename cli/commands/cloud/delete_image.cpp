// delete image: deletes an image that fastgpu made, in any region.
#include <memory>

#include "base/counted.hpp"
#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::OwnImage;

struct DeleteImageOptions {
  CloudOptions place;
  std::string name;
  bool yes = false;
  bool dry_run = false;
};

struct FoundImage {
  CloudPlace place;
  OwnImage image;
};

/// Returns the images with the given name or id. Warns of regions that cannot be asked.
std::vector<FoundImage> find_images(Context& context, const DeleteImageOptions& options) {
  return found_in_regions<FoundImage>(context, options.place, [&](const CloudPlace& place) {
    std::vector<FoundImage> found;
    for (const OwnImage& image : place.cloud->own_images(place.region, context.cancel()))
      if (image.image.id == options.name || image.image.name == options.name)
        found.push_back({place, image});
    return found;
  });
}

FoundImage the_one(Context& context, const DeleteImageOptions& options) {
  const auto found = find_images(context, options);
  const std::string shown = printable(options.name);
  if (found.empty())
    throw Error(ErrorKind::not_found, "no image created by fastgpu has the name or id '" + shown +
                                          "': `fastgpu get images --mine` lists them");
  if (found.size() > 1)
    throw Error(ErrorKind::conflict,
                counted(found.size(), "image") + " are called '" + shown +
                    "': give the id of one, or choose with --cloud and --region");
  if (found[0].image.state == provision::cloud::ImageState::pending)
    throw Error(ErrorKind::conflict, "image '" + shown + "' is still being created");
  return found[0];
}

int run(Context& context, const DeleteImageOptions& options) {
  const auto [place, own] = the_one(context, options);
  const std::string what = "image " + own.image.id + " (" + own.image.name + ", " +
                           std::string(place.cloud->name()) + " " + place.region + ")";
  if (options.dry_run)
    return show_dry_run(context.ui(), "delete image", own.image.id, {"delete " + what});
  if (!consents(context, options.yes, "Delete " + what + "?")) {
    context.ui().note("nothing deleted");
    return 1;
  }
  place.cloud->remove_image(place.region, own);
  if (context.ui().for_people()) {
    context.ui().note("deleted " + what);
    return 0;
  }
  View view;
  view.root = document("deleted");
  view.root["image"] = own.image.id;
  view.names = {own.image.id};
  context.ui().show(view);
  return 0;
}

}  // namespace

Action make_delete_image_command(Arguments& arguments) {
  auto options = std::make_shared<DeleteImageOptions>();
  arguments.text("NAME", "", "The image, by name or id", options->name).required = true;
  describe_place_options(arguments, options->place);
  describe_consent(arguments, options->yes);
  describe_dry_run(arguments, options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
