#include "agent/protocol/package_name.hpp"

#include <doctest/doctest.h>

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/protocol/package_name");

TEST_CASE("versions of previews are known, by themselves and in requirements") {
  for (const char* version :
       {"0.3.1.dev5", "1.0rc1", "1.0a1", "0.66b2", "2.0.0RC1", "1!1.0.beta2", "1.0.post1.dev2",
        "==0.3.1.dev5", ">=2.0rc1,<3", "1.0c1", "1.0.alpha"})
    CHECK_MESSAGE(is_prerelease(version), version);
  for (const char* version : {"1.0", "2.6.0+cu124", "1.0.post1", "1.0+rc1", "", ">=1.0,<2",
                              "2024.1", "1.0-r4", "dev", " >= 3"})
    CHECK_FALSE_MESSAGE(is_prerelease(version), version);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
