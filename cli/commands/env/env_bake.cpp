// env bake: makes a machine image of a node that has a complete environment.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/ascii.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/node_scripts/bake.hpp"
#include "provision/held_cluster.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::ImageState;
using provision::cloud::OwnImage;

struct EnvBakeOptions {
  EnvTarget target;
  std::string name;
  std::string image;
  std::optional<std::chrono::milliseconds> timeout;
  bool dry_run = false;
};

void check_cluster(const state::Cluster& cluster) {
  const std::string& name = cluster.name.value;
  if (!provision::is_cloud(cluster.provider))
    throw Error(ErrorKind::usage, "env bake: cluster '" + name + "' is made by provider '" +
                                      cluster.provider +
                                      "': images can only be created from nodes in clouds; "
                                      "`fastgpu env pack` creates an archive of an environment");
  if (cluster.cloud().request.data_disk.gib > 0)
    throw Error(ErrorKind::usage, "env bake: the nodes of '" + name +
                                      "' have a data disk, which would be part of the image: use a "
                                      "cluster without --data-disk");
}

void check_image_name(const std::string& name) {
  const auto fits = [](char c) {
    return is_ascii_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  if (name.size() < 3 || name.size() > 60 || !std::ranges::all_of(name, fits) ||
      !is_ascii_letter(name.front()))
    throw Error(ErrorKind::usage, "env bake: " + printable(name) +
                                      " is not a valid image name: use 3 to 60 letters, digits and "
                                      "'-_.', beginning with a letter");
}

void check_no_job_runs(Context& context, const state::Cluster& cluster) {
  const auto is_open = [](const state::Job& job) {
    return job.state == state::JobState::starting || job.state == state::JobState::running;
  };
  for (const state::Job& job : context.store().jobs())
    if (job.cluster == cluster.id && is_open(job) && is_open(refresh_job(context, job)))
      throw Error(ErrorKind::conflict, "job " + job.id + " runs on cluster '" + cluster.name.value +
                                           "': `fastgpu wait job " + job.id +
                                           "` waits for it, or cancel it");
}

/// A node that an image can be made of, and its build of the environment.
struct BakeCandidate {
  state::Node node;
  EnvBuild build;
};

/// Returns the last node that has the complete environment. The first node is avoided, because it
/// also works for the others.
BakeCandidate find_candidate(EnvCluster& cluster, const std::string& name) {
  const auto builds = complete_builds(cluster, name);
  const EnvBuild& last = builds.back();
  for (const state::Node& node : cluster.target().nodes)
    if (node.name == last.host.name) return {node, last};
  throw Error(ErrorKind::internal, "no node is called " + last.host.name.value);
}

BakePrecheck look_at(Context& context, const BakeCandidate& candidate) {
  constexpr std::chrono::seconds kTimeout{60};
  const std::string command =
      bake_precheck_command(candidate.node, candidate.build.directory.parent_path().string());
  const auto answers =
      launcher::ask(context.ssh(), {{candidate.build.host, command}}, kTimeout, context.cancel());
  return parse_bake_precheck(answers.at(0));
}

void check_sight(const BakeCandidate& candidate, const BakePrecheck& sight) {
  const std::string& node = candidate.node.name.value;
  if (sight.mount != "/")
    throw Error(ErrorKind::usage, node + ": the environment is on " + sight.mount +
                                      ", but an image contains only the system disk");
  if (!sight.at_work.empty())
    throw Error(ErrorKind::conflict,
                node + ": process " + sight.at_work + " belongs to a job that runs there");
}

/// Returns a digest of everything that an image depends on: images with the same digest are equal.
std::string made_of(const state::Cluster& cluster, const EnvBakeOptions& options,
                    const BakeCandidate& candidate, const BakePrecheck& sight) {
  const std::string& below = cluster.placement().image;
  const std::vector<std::string> parts = {options.name,
                                          candidate.build.version,
                                          candidate.build.manifest,
                                          candidate.build.directory.string(),
                                          below,
                                          sight.driver};
  return provision::cloud::digest_of(parts);
}

Bake bake_of(Context& context, const state::Cluster& cluster, const EnvBakeOptions& options,
             const BakeCandidate& candidate, const BakePrecheck& sight) {
  provision::cloud::ImageRequest request{
      .region = cluster.cloud().places.at(cluster.placement().place).site.region,
      .machine = candidate.node.instance_id,
      .marks = {.environment = options.name,
                .made_of = made_of(cluster, options, candidate, sight),
                .cluster = cluster.id,
                .cluster_name = cluster.name.value,
                .owner = context.owner(cluster.provider).mark()}};
  request.name =
      options.image.empty() ? provision::cloud::image_name(request.marks) : options.image;
  return {cluster, candidate.node, request};
}

View view_of(const std::string& cloud, const std::string& region, const OwnImage& image) {
  View view;
  view.root = document("image");
  view.root["cloud"] = cloud;
  view.root["region"] = region;
  view.root["id"] = image.image.id;
  view.root["name"] = image.image.name;
  view.root["state"] = to_string(image.state);
  view.root["environment"] = image.marks.environment;
  view.root["made_of"] = image.marks.made_of;
  view.table.columns = {{"CLOUD"}, {"REGION"}, {"IMAGE"}, {"NAME"}, {"STATE"}};
  view.table.rows.push_back(
      {cloud, region, image.image.id, image.image.name, std::string(to_string(image.state))});
  view.names = {image.image.id};
  return view;
}

int show_plan(Context& context, const Bake& bake) {
  const std::string node = bake.node.name.value;
  const std::vector<std::string> steps = {
      "hide keys and files of fastgpu on " + node + " in its memory",
      "create image " + bake.request.name + " from its disk in " + bake.request.region,
      "wait until it is available", "put " + node + " back"};
  View view;
  view.root = document("plan");
  view.root["steps"] = steps;
  view.table.columns = {{"STEP"}};
  for (const std::string& step : steps)
    view.table.rows.push_back({step});
  view.names = steps;
  context.ui().show(view);
  return 0;
}

std::optional<OwnImage> image_there(Context& context, const Bake& bake) {
  auto& cloud = context.cloud(bake.cluster.provider);
  return provision::cloud::find_image(cloud, bake.request.region, bake.request.marks.made_of,
                                      context.cancel());
}

/// Two images are the same if these parts are, which are those of made_of().
constexpr const char* kCompared = "the same environment, base image and driver";

/// Throws conflict if the image that is there, or is being made, has another name than the user
/// wants.
void check_name(const EnvBakeOptions& options, const std::string& name, ImageState state) {
  if (options.image.empty() || options.image == name) return;
  const bool is_pending = state == ImageState::pending;
  throw Error(ErrorKind::conflict, "image " + name +
                                       (is_pending ? " is being created with " : " has ") +
                                       kCompared + ": use it, or delete it first to create " +
                                       options.image + " (`fastgpu delete image " + name + "`)");
}

int show_there(Context& context, const Bake& bake, const OwnImage& image) {
  const std::string& name = image.image.name;
  context.ui().note("image " + name + " already exists with " + kCompared +
                    "; other files of the node are not compared. To create it anew, delete it "
                    "first: fastgpu delete image " +
                    name);
  context.ui().show(view_of(bake.cluster.provider, bake.request.region, image));
  return 0;
}

int run(Context& context, const EnvBakeOptions& options) {
  if (!options.image.empty()) check_image_name(options.image);
  EnvCluster environments(context, options.target);
  check_cluster(environments.target().cluster);
  const BakeCandidate candidate = find_candidate(environments, options.name);
  const BakePrecheck sight = look_at(context, candidate);
  check_sight(candidate, sight);
  const ClusterName name = environments.target().cluster.name;
  const provision::Tools tools = tools_for(context, {});
  const provision::HeldCluster held(tools, name);
  held.look();  // Throws if the cluster is not ours any more.
  Bake bake = bake_of(context, held.cluster(), options, candidate, sight);
  const auto unfinished = unfinished_bake(context, held.cluster(), bake.request.marks.made_of);
  if (unfinished) {
    check_name(options, unfinished->request.name, ImageState::pending);
    bake = *unfinished;
  }
  bake.timeout = options.timeout.value_or(provision::cloud::kImageTimeout);
  const auto there = image_there(context, bake);
  if (there) check_name(options, there->image.name, there->state);
  if (there && there->state == ImageState::available && !unfinished)
    return show_there(context, bake, *there);
  check_no_job_runs(context, held.cluster());
  if (options.dry_run) return show_plan(context, bake);
  end_other_bakes(context, held.cluster(), bake.request.marks.made_of);
  const OwnImage image = bake_image(context, bake);
  context.ui().show(view_of(bake.cluster.provider, bake.request.region, image));
  context.ui().next_steps({"fastgpu create cluster NAME --cloud " + bake.cluster.provider +
                           " --region " + bake.request.region + " --image " + image.image.id});
  return 0;
}

}  // namespace

Action make_env_bake_command(Arguments& arguments) {
  auto options = std::make_shared<EnvBakeOptions>();
  describe_named_environment(arguments, options->name, options->target);
  arguments.text("--image", "NAME", "Name of the image (fastgpu-NAME-DIGEST)", options->image);
  arguments.duration("--timeout", "Give up after the cloud has taken this long (2h)",
                     options->timeout);
  arguments.flag("--dry-run", "Show the steps, without running them", options->dry_run);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
