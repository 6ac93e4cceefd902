#include "comm/gradients/tuner_cache.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/gradients/tuner_cache");

TEST_CASE("what is stored is loaded, for the same gradients and machines only") {
  const test::TempDirectory folder;
  const auto deep = folder.path() / "a" / "b";
  const Topology two = filled_nodes(4, 2);
  const std::vector<ElementType> whole{ElementType::float32}, half{ElementType::float16};
  const auto file = cache_file(deep, {7, whole, two, 4});
  CHECK(file == cache_file(deep, {7, whole, filled_nodes(4, 2), 4}));
  CHECK(file != cache_file(deep, {8, whole, two, 4}));
  CHECK(file != cache_file(deep, {7, half, two, 4}));
  CHECK(file != cache_file(deep, {7, whole, filled_nodes(4, 4), 4}));
  CHECK(file != cache_file(deep, {7, whole, filled_nodes(4, 3), 4}));  // 3 and 1.
  CHECK(file != cache_file(deep, {7, whole, two, 1}));
  CHECK(file != cache_file(deep, {7, whole, two, 4, gpu::DevicePath::nccl}));
  CHECK_FALSE(load_setting(file));
  const TunerSetting setting{4, 8, {std::uint64_t{3} << 32}, {Algorithm::tree, 18}};
  store_setting(file, setting);
  CHECK(load_setting(file) == setting);
  store_setting(file, {1, 1, {1}});
  CHECK(load_setting(file) == TunerSetting{1, 1, {1}});
}

TEST_CASE("a file that makes no sense counts as absent") {
  const test::TempDirectory folder;
  const auto file = folder.path() / "x.json";
  for (
      const char* text :
      {"", "{", "[]", R"({"schema": "other"})", R"({"schema": "fastgpu.comm.tuned/2"})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 1, "lanes": "2", "bucket_bytes": 1, "algorithm": "usual", "piece_log2": 0})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 1, "lanes": 99, "bucket_bytes": 1, "algorithm": "usual", "piece_log2": 0})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 0, "lanes": 1, "bucket_bytes": 1, "algorithm": "usual", "piece_log2": 0})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 1, "lanes": 1, "bucket_bytes": 0, "algorithm": "usual", "piece_log2": 0})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 1, "lanes": 1, "bucket_bytes": 1, "algorithm": "fast", "piece_log2": 0})",
       R"({"schema": "fastgpu.comm.tuned/2", "flows": 1, "lanes": 1, "bucket_bytes": 1, "algorithm": "ring", "piece_log2": 31})"}) {
    std::ofstream(file) << text;
    CHECK_FALSE(load_setting(file));
  }
}

TEST_CASE("where nothing can be written the reason is said") {
  const test::TempDirectory folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const Error e = test::failure_of([&] { store_setting(folder.path() / "file" / "x", {}); });
  CHECK(e.kind() == ErrorKind::local);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
