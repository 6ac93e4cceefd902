#include "envs/environments/parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace fastgpu::envs {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

Artefact artefact(const std::string& package, std::uint64_t megabytes) {
  Artefact one{package, "1", "https://f.example/" + package + ".whl", std::string(64, 'a')};
  one.bytes = megabytes * kMegabyte;
  return one;
}

using Names = std::vector<std::vector<std::string>>;

Names names_in(const std::vector<std::vector<Artefact>>& parts) {
  Names names;
  for (const auto& part : parts) {
    names.emplace_back();
    std::ranges::transform(part, std::back_inserter(names.back()), &Artefact::package);
  }
  return names;
}

TEST_SUITE_BEGIN("envs/parts");

TEST_CASE("what is small together begins, and then the largest come first") {
  const auto parts = parts_of({artefact("einsum", 1), artefact("jax", 3), artefact("jaxlib", 85),
                               artefact("numpy", 17), artefact("scipy", 35)});
  CHECK(names_in(parts) == Names{{"einsum", "jax", "numpy"}, {"jaxlib"}, {"scipy"}});
}

TEST_CASE("what is small altogether is one part, and nothing is one, too") {
  CHECK(names_in(parts_of({artefact("a", 9), artefact("b", 1)})) == Names{{"b", "a"}});
  CHECK(names_in(parts_of({})) == Names{{}});
}

TEST_CASE("there are about eight parts, however many packages there are, and all are in them") {
  std::vector<Artefact> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(artefact("p" + std::to_string(i), static_cast<std::uint64_t>(10 + i)));
  const auto parts = parts_of(many);
  CHECK(parts.size() >= 7);
  CHECK(parts.size() <= 9);
  std::size_t count = 0;
  for (const auto& part : parts)
    count += part.size();
  CHECK(count == many.size());
}

TEST_CASE("packages whose size is not known are as large as each other") {
  std::vector<Artefact> unknown;
  for (int i = 0; i < 3; ++i)
    unknown.push_back(artefact("p" + std::to_string(i), 0));
  CHECK(parts_of(unknown).size() == 1);
  for (int i = 3; i < 40; ++i)
    unknown.push_back(artefact("p" + std::to_string(i), 0));
  CHECK(parts_of(unknown).size() == 8);
}

TEST_CASE("the wheels of one package, of which one is fetched, stay together and count once") {
  const auto parts = parts_of({artefact("a", 20), artefact("a", 20), artefact("b", 18)});
  CHECK(names_in(parts) == Names{{"b"}, {"a", "a"}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
