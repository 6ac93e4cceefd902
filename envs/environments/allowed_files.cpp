#include "envs/environments/allowed_files.hpp"

#include <algorithm>

#include "agent/protocol/package_name.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "envs/environments/requirement.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kMostShown = 200;

std::string files_of(const std::vector<Artefact>& artefacts, const std::string& project) {
  std::string files;
  for (const Artefact& one : artefacts)
    if (agent::normalized_package_name(one.package) == project)
      append_item(files, printable(one.url.substr(one.url.rfind('/') + 1)) + " with " + one.sha256);
  return files;
}

void keep_allowed(const std::string& line, std::vector<Artefact>& artefacts) {
  const Requirement wanted = parse_requirement(line);
  if (wanted.hashes.empty()) return;
  const auto is_of_it = [&](const Artefact& one) {
    return agent::normalized_package_name(one.package) == wanted.project;
  };
  const auto is_refused = [&](const Artefact& one) {
    return is_of_it(one) && !contains(wanted.hashes, one.sha256);
  };
  if (std::ranges::none_of(artefacts, is_of_it)) return;  // Its marker does not apply here.
  const std::string files = files_of(artefacts, wanted.project);
  std::erase_if(artefacts, is_refused);
  if (std::ranges::none_of(artefacts, is_of_it))
    throw Error(ErrorKind::remote,
                "'" + printable(line, kMostShown) +
                    "': no file has a SHA-256 that --hash allows; the files are " + files);
}

}  // namespace

void keep_allowed_files(const EnvironmentSpec& spec, std::vector<Artefact>& artefacts) {
  for (const std::string& line : index_requirements(spec))
    keep_allowed(line, artefacts);
}

}  // namespace fastgpu::envs
