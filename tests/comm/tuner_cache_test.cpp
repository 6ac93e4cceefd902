#include "comm/entry/tuner_cache.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/entry/tuner_cache");

TEST_CASE("what is stored is loaded, for the same gradients and machines only") {
  const test::TempDirectory folder;
  const auto deep = folder.path() / "a" / "b";
  const auto file = cache_file(deep, 7, filled_nodes(4, 2));
  CHECK(file != cache_file(deep, 8, filled_nodes(4, 2)));
  CHECK(file != cache_file(deep, 7, filled_nodes(4, 4)));
  CHECK_FALSE(load_setting(file));
  const Setting setting{4, 8, {std::uint64_t{3} << 32}};
  store_setting(file, setting);
  CHECK(load_setting(file) == setting);
  store_setting(file, {1, 1, {1}});
  CHECK(load_setting(file) == Setting{1, 1, {1}});
}

TEST_CASE("a file that makes no sense counts as absent") {
  const test::TempDirectory folder;
  const auto file = folder.path() / "x.json";
  for (const char* text :
       {"", "{", "[]", R"({"schema": "other"})", R"({"schema": "fastgpu.comm.tuned/1"})",
        R"({"schema": "fastgpu.comm.tuned/1", "flows": 1, "lanes": "2", "bucket_bytes": 1})",
        R"({"schema": "fastgpu.comm.tuned/1", "flows": 1, "lanes": 99, "bucket_bytes": 1})",
        R"({"schema": "fastgpu.comm.tuned/1", "flows": 0, "lanes": 1, "bucket_bytes": 1})",
        R"({"schema": "fastgpu.comm.tuned/1", "flows": 1, "lanes": 1, "bucket_bytes": 0})"}) {
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
