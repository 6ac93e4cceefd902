#include "cli/commands/cluster/place_checks.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using test::failure_of;
using test::mentions;

TEST_SUITE_BEGIN("cli/place_checks");

TEST_CASE("a provider and another cloud contradict each other, in flags and in a file") {
  for (const PlaceWords& words :
       {PlaceWords{.provider_flag = "aws",
       .cloud_flags = {"alibaba"},
       .provider = "aws",
       .clouds = {"alibaba"}},
        PlaceWords{.provider = "aws", .clouds = {"aws", "alibaba"}},
        PlaceWords{.provider_flag = "aws", .provider = "aws", .clouds = {"any"}}}) {
    const Error e = failure_of([&] { check_one_place(words); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "provider 'aws' and cloud '" + words.clouds.back() + "' contradict"));
  }
}

TEST_CASE("a provider and its own cloud agree, and --cloud replaces the provider of a file") {
  for (const PlaceWords& words :
       {PlaceWords{
            .provider_flag = "aws", .cloud_flags = {"aws"}, .provider = "aws", .clouds = {"aws"}},
        PlaceWords{.cloud_flags = {"alibaba"}, .provider = "aws", .clouds = {"alibaba"}},
        PlaceWords{.cloud_flags = {"any"}, .clouds = {"any"}},
        PlaceWords{.provider_flag = "aws", .provider = "aws"}})
    CHECK_NOTHROW(check_one_place(words));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
