#include <memory>

#include "cli/commands/cloud/region_rows.hpp"
#include "cli/commands/commands.hpp"

namespace fastgpu::cli {
namespace {

Row row_of(const provision::cloud::OwnImage& own, const CloudPlace& place) {
  const provision::cloud::Image& image = own.image;
  const std::string state(to_string(own.state));
  return {{std::string(place.cloud->name()), place.region, image.id, image.name,
           own.failure.empty() ? state : state + ": " + printable(own.failure, 100),
           own.marks.environment, own.marks.cluster_name, image.created},
          {{"cloud", place.cloud->name()},
           {"region", place.region},
           {"id", image.id},
           {"name", image.name},
           {"architecture", image.architecture},
           {"state", state},
           {"failure", own.failure},
           {"environment", own.marks.environment},
           {"cluster", own.marks.cluster_name},
           {"made_of", own.marks.made_of},
           {"created", image.created}},
          image.id};
}

int show_images(Context& context, const CloudOptions& options, const std::string& name) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& image :
         place.cloud->images(place.region, name, options.type, context.cancel()))
      found.push_back({{std::string(place.cloud->name()), place.region, image.id, image.name,
                        image.architecture, image.created},
                       {{"cloud", place.cloud->name()},
                        {"region", place.region},
                        {"id", image.id},
                        {"name", image.name},
                        {"architecture", image.architecture},
                        {"created", image.created}},
                       image.id});
    return found;
  });
  show_rows(context, "images",
            {{"CLOUD"},
             {"REGION"},
             {"IMAGE"},
             {"NAME"},
             {"ARCHITECTURE", false, Fit::optional},
             {"CREATED", false, Fit::optional}},
            rows);
  return 0;
}

/// Shows the images that fastgpu made, in any state.
int show_own_images(Context& context, const CloudOptions& options) {
  const auto rows = rows_of(context, options, [&](const CloudPlace& place) {
    std::vector<Row> found;
    for (const auto& own : place.cloud->own_images(place.region, context.cancel()))
      found.push_back(row_of(own, place));
    return found;
  });
  show_rows(context, "images",
            {{"CLOUD"},
             {"REGION"},
             {"IMAGE"},
             {"NAME"},
             {"STATE"},
             {"ENVIRONMENT"},
             {"CLUSTER"},
             {"CREATED"}},
            rows);
  return 0;
}

}  // namespace

Action make_get_images_command(Arguments& arguments) {
  const auto options = describe_looking(arguments);
  auto name = std::make_shared<std::string>();
  auto mine = std::make_shared<bool>(false);
  arguments.text("NAME", "", "Name or id of an image (the default images)", *name);
  arguments.flag("--mine", "Show only images made by `fastgpu env bake`", *mine);
  arguments.text("--instance-type", "TYPE", "Show only images that fit this instance type",
                 options->type);
  return [options, name, mine](Context& context) {
    if (*mine && !(name->empty() && options->type.empty()))
      throw Error(ErrorKind::usage, "get images: --mine lists all of them");
    return *mine ? show_own_images(context, *options) : show_images(context, *options, *name);
  };
}

}  // namespace fastgpu::cli
