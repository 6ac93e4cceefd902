#include "envs/drivers/packages.hpp"

#include "base/error.hpp"
#include "base/join.hpp"
#include "envs/drivers/choice.hpp"
#include "envs/drivers/steps.hpp"

namespace fastgpu::envs {

std::vector<DriverStep> package_steps(const std::vector<std::string>& names, const NodeFacts& facts,
                                      Index index) {
  if (facts.packages != Packages::apt)
    throw Error(ErrorKind::usage, "apt packages are required (" + joined(names) + "), but '" +
                                      facts.os.name + "' has no apt");
  const auto manager = package_manager(facts);
  std::vector<PackageVersion> missing;
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (installed_version(facts, name)) continue;
    missing.push_back({name});
    if (candidates(facts, name).empty()) unknown.push_back(name);
  }
  if (index == Index::just_read && !unknown.empty())
    throw Error(ErrorKind::usage,
                "no repository of '" + facts.os.name + "' has the package " + joined(unknown));
  std::vector<DriverStep> body;
  if (!missing.empty()) {
    body.push_back(make_step("Read the distribution's index", index == Index::just_read,
                             {manager->read_distribution_index()}));
    body.back().reads_index = true;
  }
  body.push_back(
      make_step("Install " + joined(names), missing.empty(), {manager->install(missing)}));
  return body;
}

}  // namespace fastgpu::envs
