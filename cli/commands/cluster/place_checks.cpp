#include "cli/commands/cluster/place_checks.hpp"

#include "base/error.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {

void check_cloud_options(const CloudOptions& options, const std::string& named) {
  const std::string given = given_option(options);
  if (given.empty() || provision::is_cloud(named)) return;
  if (!named.empty())
    throw Error(ErrorKind::usage, "create cluster: " + given + " is for clouds, but provider '" +
                                      named + "' is not a cloud");
  if (!wants_a_cloud(options))
    throw Error(ErrorKind::usage,
                "create cluster: " + given +
                    " is for clouds: choose machines with --gpus A100:8 or --instance-type TYPE");
}

void check_one_place(const PlaceWords& words) {
  const bool replaces_file = words.provider_flag.empty() && !words.cloud_flags.empty();
  if (replaces_file || !provision::is_cloud(words.provider)) return;
  for (const std::string& cloud : words.clouds)
    if (cloud != words.provider)
      throw Error(ErrorKind::usage, "create cluster: provider '" + words.provider +
                                        "' and cloud '" + cloud +
                                        "' contradict each other: name one of them, or leave " +
                                        "--provider out to search several clouds");
}

}  // namespace fastgpu::cli
