#include "provision/cloud/make_image.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;

OwnImage image_in(ImageState state, const std::string& id = "m-1",
                  const std::string& made_of = "abc") {
  return {.image = {.id = id, .name = "fastgpu-train-abc"},
          .state = state,
          .failure = state == ImageState::failed ? "no space" : "",
          .marks = {.environment = "train", .made_of = made_of}};
}

/// A cloud that lists an image at once and has it whole at the second look.
struct ImageBench {
  test::FakeCloud cloud;
  Cancel cancel;
  std::chrono::milliseconds waited{0};
  Wait wait = [this](std::chrono::milliseconds time, const Cancel&) {
    waited += time;
    if (!cloud.images_made.empty() && cloud.images_made.front().state == ImageState::pending)
      cloud.images_made.front().state = ImageState::available;
  };
  ImageRequest request{.region = "r1",
                       .machine = "i-1",
                       .name = "fastgpu-train-abc",
                       .marks = {.environment = "train", .made_of = "abc"},
                       .token = "t"};

  ImageBench() {
    cloud.on_image = [this](const ImageRequest&) {
      cloud.images_made.push_back(image_in(ImageState::pending));
    };
  }
  OwnImage make(Asked asked = Asked::never) {
    return make_image(cloud, request, asked, wait, cancel);
  }
};

TEST_SUITE_BEGIN("provision/cloud");

TEST_CASE("an image is asked for once and waited for") {
  ImageBench bench;
  CHECK(bench.make().state == ImageState::available);
  CHECK(bench.cloud.image_wishes.size() == 1);
  CHECK(bench.waited > 0ms);
}

TEST_CASE("what is made of the same is not asked for again, whoever made it") {
  ImageBench bench;
  bench.cloud.images_made = {image_in(ImageState::pending, "m-7")};
  CHECK(bench.make().image.id == "m-7");
  CHECK(bench.cloud.image_wishes.empty());
}

TEST_CASE("of several made of the same the one that is whole counts") {
  const std::vector<OwnImage> images = {
      image_in(ImageState::failed, "m-1"), image_in(ImageState::available, "m-2"),
      image_in(ImageState::pending, "m-3"), image_in(ImageState::available, "m-4", "other")};
  CHECK(image_made_of(images, "abc")->image.id == "m-2");
  CHECK(image_made_of(images, "none") == nullptr);
}

TEST_CASE("one that has failed before is removed, and another is made") {
  ImageBench bench;
  bench.cloud.images_made = {image_in(ImageState::failed, "m-7")};
  CHECK(bench.make().image.id == "m-1");
  CHECK(bench.cloud.images_made.size() == 1);
}

TEST_CASE("one that fails is removed and its reason told") {
  ImageBench bench;
  bench.cloud.on_image = [&](const ImageRequest&) {
    bench.cloud.images_made.push_back(image_in(ImageState::failed));
  };
  const Error e = failure_of([&] { bench.make(); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "no space"));
  CHECK(bench.cloud.images_made.empty());
}

TEST_CASE("a request whose answer is lost is looked for before it is made again") {
  ImageBench bench;
  bench.cloud.on_image = [&](const ImageRequest&) {
    bench.cloud.images_made.push_back(image_in(ImageState::pending));
    throw Error(ErrorKind::transient, "reset");
  };
  CHECK(bench.make().state == ImageState::available);
  CHECK(bench.cloud.image_wishes.size() == 1);
}

TEST_CASE("a name that another image has is a conflict, after a look whether it is ours") {
  ImageBench bench;
  bench.cloud.on_image = [](const ImageRequest&) { throw Error(ErrorKind::conflict, "taken"); };
  CHECK(failure_of([&] { bench.make(); }).kind() == ErrorKind::conflict);
  CHECK(bench.waited >= 10s);
  ImageBench late;
  late.cloud.on_image = [&](const ImageRequest&) {
    late.cloud.images_made.push_back(image_in(ImageState::pending));
    throw Error(ErrorKind::conflict, "taken");
  };
  CHECK(late.make().state == ImageState::available);
}

TEST_CASE("where a second request would make a second image, what may be listed late is awaited") {
  ImageBench bench;
  bench.cloud.knows_images_again = false;
  bench.wait = [&](std::chrono::milliseconds time, const Cancel&) {
    bench.waited += time;
    if (bench.waited > 5s && bench.cloud.images_made.empty())
      bench.cloud.images_made = {image_in(ImageState::available, "m-9")};
  };
  CHECK(bench.make(Asked::perhaps).image.id == "m-9");
  CHECK(bench.cloud.image_wishes.empty());
}

TEST_CASE("names and tags have the letters that every cloud takes") {
  const ImageMarks marks{.environment = "tf1.15 ü/" + std::string(100, 'x'),
                         .made_of = std::string(32, 'a')};
  const std::string name = image_name(marks);
  CHECK(name.size() <= 60);
  CHECK(name.starts_with("fastgpu-tf1.15-"));
  CHECK(name.find_first_of(" /\xc3") == std::string::npos);
  for (const auto& [key, value] : pairs_of(marks))
    CHECK(value.size() <= 43);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
