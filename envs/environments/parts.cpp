#include "envs/environments/parts.hpp"

#include <algorithm>
#include <cstdint>
#include <ranges>

namespace fastgpu::envs {
namespace {

constexpr std::uint64_t kPresumed = 4UL << 20;  // The size of a package if no index has it.
constexpr std::uint64_t kLeast = 16UL << 20;
constexpr std::uint64_t kMostParts = 8;

struct SharedPackage {
  std::vector<Artefact> artefacts;  // The alternatives, one of which is fetched.
  std::uint64_t bytes = 0;
};

std::vector<SharedPackage> shared_packages_of(const std::vector<Artefact>& artefacts) {
  std::vector<SharedPackage> packages;
  for (const Artefact& one : artefacts) {
    if (packages.empty() || packages.back().artefacts.front().package != one.package)
      packages.emplace_back();
    SharedPackage& package = packages.back();
    package.artefacts.push_back(one);
    package.bytes = std::max(package.bytes, one.bytes == 0 ? kPresumed : one.bytes);
  }
  return packages;
}

/// Puts the smallest first, as many as make one part, and then the others, the largest first.
void put_in_order(std::vector<SharedPackage>& packages, std::uint64_t part) {
  std::ranges::stable_sort(packages, {}, &SharedPackage::bytes);
  auto rest = packages.begin();
  for (std::uint64_t bytes = 0; rest != packages.end() && bytes < part; ++rest)
    bytes += rest->bytes;
  std::ranges::reverse(rest, packages.end());
}

}  // namespace

std::vector<std::vector<Artefact>> parts_of(const std::vector<Artefact>& artefacts) {
  std::vector<SharedPackage> packages = shared_packages_of(artefacts);
  std::uint64_t all = 0;
  for (const SharedPackage& package : packages)
    all += package.bytes;
  const std::uint64_t part = std::max(all / kMostParts, kLeast);
  put_in_order(packages, part);
  std::vector<std::vector<Artefact>> parts(1);
  std::uint64_t bytes = 0;
  for (const SharedPackage& package : packages) {
    if (bytes >= part) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().insert(parts.back().end(), package.artefacts.begin(), package.artefacts.end());
    bytes += package.bytes;
  }
  return parts;
}

}  // namespace fastgpu::envs
