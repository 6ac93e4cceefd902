#include "provision/providers/local/mounts.hpp"

#include <doctest/doctest.h>

using namespace fastgpu::provision::local;

namespace {

constexpr const char* kMountinfo =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "28 27 8:1 / /home rw shared:3 master:1 - xfs /dev/sdb rw\n"
    "29 27 8:2 / /srv/with\\040space ro,nodev - ext4 /dev/sdc ro\n"
    "30 27 0:30 / /tmp rw - tmpfs tmp rw\n"
    "31 27 8:3 / /home/ann/disk rw - btrfs /dev/sdd rw\n"
    "32 27 8:4 / /var/lib/store/x rw - ext4 /dev/sde rw\n"
    "broken line\n";

}  // namespace

TEST_CASE("mountinfo is read with its optional fields and its escapes") {
  const auto mounts = parse_mountinfo(kMountinfo);
  REQUIRE(mounts.size() == 7);
  CHECK(mounts[2].point == "/home");
  CHECK(mounts[2].type == "xfs");
  CHECK(mounts[3].point == "/srv/with space");
  CHECK(mounts[3].read_only);
  CHECK_FALSE(mounts[2].read_only);
}

TEST_CASE("a node gets an overlay of every disk, parents first, and of nothing else") {
  const auto layers = choose_layers(parse_mountinfo(kMountinfo), {"/var/lib/store"});
  std::vector<std::string> points;
  for (const Layer& layer : layers)
    points.push_back(layer.point);
  CHECK(points == std::vector<std::string>{"/", "/home", "/home/ann/disk", "/srv/with space"});
  CHECK(layers[0].storage == "root");
  CHECK(layers[2].storage == "%2Fhome%2Fann%2Fdisk");
}

TEST_CASE("a disk mounted over by memory is not shown") {
  const auto layers =
      choose_layers(parse_mountinfo("1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /data rw - ext4 b rw\n"
                                    "3 2 0:9 / /data rw - tmpfs c rw\n"),
                    {});
  CHECK(layers.size() == 1);
}

TEST_CASE("a path belongs to the deepest layer above it") {
  const auto layers = choose_layers(parse_mountinfo(kMountinfo), {});
  const PlaceInLayer place = find_place(layers, "/home/ann/.ssh");
  CHECK(place.layer->point == "/home");
  CHECK(place.rest == "ann/.ssh");
  CHECK(find_place(layers, "/homely/x").layer->point == "/");
  CHECK(find_place(layers, "/homely/x").rest == "homely/x");
}

TEST_CASE("what an overlay's options take for punctuation is escaped") {
  CHECK(overlay_options("/a:b", "/c,d", "/e\\f") ==
        "lowerdir=/a\\:b,upperdir=/c\\,d,workdir=/e\\\\f");
}
