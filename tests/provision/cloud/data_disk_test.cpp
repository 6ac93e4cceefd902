#include "provision/cloud/data_disk.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::cloud {
namespace {

TEST_SUITE_BEGIN("provision/cloud/data_disk");

TEST_CASE("a type of disk that the cloud's API does not name is warned of") {
  CHECK(unknown_disk_type({.gib = 500, .type = "nope"}, "huawei") ==
        "--data-disk: huawei may refuse disks of type 'nope'; it is known to have SATA, SAS, "
        "GPSSD, GPSSD2, SSD, ESSD, ESSD2, co-p1, uh-l1");
}

TEST_CASE("known types, the default type, no disk, and other providers give no warning") {
  CHECK(unknown_disk_type({.gib = 500, .type = "gp3"}, "aws").empty());
  CHECK(unknown_disk_type({.gib = 500, .type = "CLOUD_BSSD"}, "tencent").empty());
  CHECK(unknown_disk_type({.gib = 500, .type = {}}, "aws").empty());
  CHECK(unknown_disk_type({.gib = 0, .type = "nope"}, "aws").empty());
  CHECK(unknown_disk_type({.gib = 500, .type = "nope"}, "local").empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
