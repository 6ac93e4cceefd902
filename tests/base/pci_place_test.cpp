#include "base/pci_place.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

TEST_SUITE_BEGIN("base/pci place");

TEST_CASE("the place of a device is the way to it from the host's bridge") {
  const test::TempDirectory root;
  const auto place = [&](const fs::path& folder) {
    fs::create_directories(root.path() / "devices" / folder);
    fs::remove(root.path() / "link");
    fs::create_directory_symlink(root.path() / "devices" / folder, root.path() / "link");
    return pci_place(root.path() / "link");
  };
  CHECK(place("pci0000:00/0000:00:01.0/0000:3b:00.0") == "pci0000:00/0000:00:01.0/0000:3b:00.0");
  CHECK(place("pci0000:00/0000:00:03.0/virtio0") == "pci0000:00/0000:00:03.0");
  CHECK(place("pci0000:00").empty());
  CHECK(place("virtual/net/eth0").empty());
  CHECK(pci_place(root.path() / "no such folder").empty());
}

TEST_CASE("two devices have the bridges in common that their ways begin with") {
  const char* const gpu = "pci0000:00/0000:00:01.0/0000:3a:00.0/0000:3b:00.0";
  CHECK(common_bridges(gpu, "pci0000:00/0000:00:01.0/0000:3a:00.0/0000:3c:00.0") == 3);
  CHECK(common_bridges(gpu, "pci0000:00/0000:00:01.0/0000:3d:00.0") == 2);
  CHECK(common_bridges(gpu, "pci0000:00/0000:00:02.0") == 1);
  CHECK(common_bridges(gpu, "pci0000:80/0000:80:01.0/0000:3a:00.0/0000:3b:00.0") == 0);
  CHECK(common_bridges(gpu, "") == 0);
  CHECK(common_bridges("", "") == 0);
  // A device is no bridge, not even its own.
  CHECK(common_bridges("pci0000:00/0000:00:01.0", "pci0000:00/0000:00:01.0") == 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
