#include "envs/environments/wheel_tags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "agent/protocol/package_name.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/split.hpp"
#include "envs/environments/requirement.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kWheel = ".whl";
constexpr std::string_view kGlibc = "glibc ";
constexpr std::size_t kMostShownName = 200;

/// The names of glibc's versions before manylinux_2_17 and its like.
constexpr std::array kNamedVersions = {std::pair{"manylinux1", "2_5"},
                                       std::pair{"manylinux2010", "2_12"},
                                       std::pair{"manylinux2014", "2_17"}};

/// Two numbers: "2_17" or "3.11".
using Version = std::pair<int, int>;

std::optional<Version> version_in(std::string_view text, char between) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != between) return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  return minor.ec == std::errc() ? std::optional(version) : std::nullopt;
}

/// Returns the version in "311", "3", "27".
std::optional<Version> python_in(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  const int minor = digits.size() == 1 ? 0 : std::stoi(std::string(digits.substr(1)));
  return Version{digits.front() - '0', minor};
}

bool fits_python(std::string_view python, std::string_view abi, const Version& here) {
  const bool is_cpython = python.starts_with("cp");
  if (!is_cpython && !python.starts_with("py")) return true;  // Another implementation.
  const auto wanted = python_in(python.substr(2));
  if (!wanted || wanted->first != here.first) return false;
  if (!is_cpython || abi == "abi3") return wanted->second <= here.second;
  return wanted->second == here.second;
}

bool fits_platform(std::string_view tag, const WheelPlatform& platform) {
  if (tag == "any") return true;
  const std::string end = "_" + platform.machine;
  if (!tag.ends_with(end)) return false;
  std::string system(tag.substr(0, tag.size() - end.size()));
  if (system == "linux" || platform.libc.empty()) return true;
  for (const auto& [name, version] : kNamedVersions)
    if (system == name) system = std::string("manylinux_") + version;
  const bool is_glibc = platform.libc.starts_with(kGlibc);
  if (!system.starts_with("manylinux_")) return system.starts_with("musllinux_") && !is_glibc;
  const auto oldest = version_in(system.substr(system.find('_') + 1), '_');
  const auto here =
      version_in(platform.libc.substr(std::min(kGlibc.size(), platform.libc.size())), '.');
  return is_glibc && oldest && (!here || *oldest <= *here);
}

}  // namespace

std::string misfit_of_wheel(std::string_view file, const WheelPlatform& platform) {
  const auto here = version_in(platform.python_version, '.');
  auto parts = split(file.substr(0, file.size() - std::min(file.size(), kWheel.size())), '-');
  if (!here || parts.size() < 5) return "";
  const std::string_view pythons = parts[parts.size() - 3];
  const std::string_view abis = parts[parts.size() - 2];
  const std::string_view platforms = parts.back();
  const bool has_platform = std::ranges::any_of(
      split(platforms, '.'), [&](std::string_view tag) { return fits_platform(tag, platform); });
  const bool has_python = std::ranges::any_of(split(pythons, '.'), [&](std::string_view python) {
    return std::ranges::any_of(
        split(abis, '.'), [&](std::string_view abi) { return fits_python(python, abi, *here); });
  });
  if (has_platform && has_python) return "";
  const std::string system = platforms == "any" ? "" : " on " + printable(platforms);
  return "it is for " + printable(pythons) + system;
}

void check_wheels_fit(const EnvironmentLock& lock) {
  const WheelPlatform platform{lock.python_version, lock.machine, lock.libc};
  for (const std::string& line : index_requirements(lock.spec)) {
    const Requirement wanted = parse_requirement(line);
    const std::string& place = wanted.wheel.empty() ? wanted.url : wanted.wheel;
    const bool is_in_it = std::ranges::any_of(lock.artefacts, [&](const Artefact& one) {
      return agent::normalized_package_name(one.package) == wanted.project && !one.is_source;
    });
    if (place.empty() || !is_in_it) continue;
    const std::string why = misfit_of_wheel(place.substr(place.rfind('/') + 1), platform);
    if (!why.empty())
      throw Error(ErrorKind::usage,
                  "the wheel " + printable(place, kMostShownName) + " does not fit: " + why +
                      ", and the environment has Python " + platform.python_version + " on " +
                      platform.machine + (platform.libc.empty() ? "" : " with " + platform.libc));
  }
}

}  // namespace fastgpu::envs
