// Reading Fashion-MNIST, and what is no Fashion-MNIST.
#include "fashion.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "idx.hpp"
#include "support/temp_directory.hpp"

namespace fashion {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes idx_of(const std::vector<std::uint32_t>& lengths, const Bytes& values) {
  Bytes file{0, 0, 8, static_cast<std::uint8_t>(lengths.size())};
  for (const std::uint32_t length : lengths)
    for (const int shift : {24, 16, 8, 0})
      file.push_back(static_cast<std::uint8_t>(length >> shift));
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

Bytes images(std::uint32_t count) {
  return idx_of({count, kSide, kSide}, Bytes(count * kSide * kSide, 9));
}

training::Dataset decoded(const Bytes& images, const Bytes& labels) {
  return dataset_of(decode_idx(images, 3, "images"), decode_idx(labels, 1, "labels"), "set");
}

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  for (const std::uint8_t byte : bytes)
    file.put(static_cast<char>(byte));
}

void write_gzip(const std::filesystem::path& path, const Bytes& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

Bytes read_plain(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_SUITE_BEGIN("comm/fashion");

TEST_CASE("an IDX file is the lengths of its dimensions and its values") {
  const Bytes file = idx_of({2, 3}, {1, 2, 3, 4, 5, 6});
  const Idx idx = decode_idx(file, 2, "test");
  CHECK(idx.lengths == std::vector<std::size_t>{2, 3});
  CHECK(idx.values[5] == 6);
  CHECK(decode_idx(idx_of({0, 7}, {}), 2, "empty").values.empty());
}

TEST_CASE("a file that is no IDX file is refused") {
  Bytes floats = idx_of({1}, {1});
  floats[2] = 13;
  Bytes marked = idx_of({1}, {1});
  marked[0] = 1;
  for (const Bytes& bad :
       {Bytes{}, Bytes{0, 0, 8}, Bytes{0, 0, 8, 1, 0, 0, 0}, floats, marked, idx_of({1, 1}, {1})})
    CHECK_THROWS_WITH(decode_idx(bad, 1, "test"), "test: no IDX file of bytes with 1 dimensions");
}

TEST_CASE("an IDX file with fewer or more values than it says is refused") {
  CHECK_THROWS_WITH(decode_idx(idx_of({2, 3}, {1, 2, 3, 4, 5}), 2, "test"),
                    "test: it ends before its last value");
  CHECK_THROWS_WITH(decode_idx(idx_of({2}, {1, 2, 3}), 1, "test"),
                    "test: 1 bytes behind its last value");
  CHECK_THROWS_WITH(decode_idx(idx_of({0}, {1}), 1, "test"), "test: 1 bytes behind its last value");
}

TEST_CASE("lengths whose product overflows are refused") {
  const std::uint32_t huge = 0xffffffff;
  CHECK_THROWS_WITH(decode_idx(idx_of({huge, huge, huge}, {1}), 3, "test"),
                    "test: it ends before its last value");
  CHECK_THROWS_WITH(decode_idx(idx_of({1U << 31, 1U << 31, 4}, {}), 3, "test"),
                    "test: it ends before its last value");
}

TEST_CASE("images and labels that do not belong together are refused") {
  CHECK(decoded(images(2), idx_of({2}, {0, 9})).size() == 2);
  CHECK_THROWS_WITH(decoded(images(2), idx_of({1}, {0})), "set: 2 images, and 1 labels");
  CHECK_THROWS_WITH(decoded(images(0), idx_of({0}, {})), "set: 0 images, and 0 labels");
  CHECK_THROWS_WITH(decoded(images(1), idx_of({1}, {10})), "set: there is no class 10");
  CHECK_THROWS_WITH(decoded(idx_of({1, 2, 2}, {1, 2, 3, 4}), idx_of({1}, {0})),
                    "set: images of 2 by 2, not 28 by 28");
}

TEST_CASE("compressed and plain files are read; damaged and endless ones are named") {
  const fastgpu::test::TempDirectory folder;
  const Bytes bytes(100'000, 7);
  write_gzip(folder.path() / "good.gz", bytes);
  CHECK(read_gzip(folder.path() / "good.gz", 100'000) == bytes);
  write(folder.path() / "plain", {1, 2, 3});
  CHECK(read_gzip(folder.path() / "plain", 3) == Bytes{1, 2, 3});
  CHECK_THROWS_AS(read_gzip(folder.path() / "good.gz", 99'999), std::runtime_error);

  Bytes cut = read_plain(folder.path() / "good.gz");
  cut.resize(cut.size() / 2);
  write(folder.path() / "cut.gz", cut);
  CHECK_THROWS_AS(read_gzip(folder.path() / "cut.gz", 100'000), std::runtime_error);
  Bytes wrong = read_plain(folder.path() / "good.gz");
  wrong[wrong.size() - 5] ^= 1;  // Of the checksum.
  write(folder.path() / "wrong.gz", wrong);
  CHECK_THROWS_AS(read_gzip(folder.path() / "wrong.gz", 100'000), std::runtime_error);
  CHECK_THROWS_WITH_AS(read_gzip(folder.path() / "none.gz", 1),
                       doctest::Contains("No such file or directory"), std::runtime_error);
}

TEST_CASE("where the data is missing the package is named") {
  const fastgpu::test::TempDirectory folder;
  CHECK_THROWS_WITH_AS(load_fashion(folder.path()), doctest::Contains("dataset-fashion-mnist"),
                       std::runtime_error);
}

TEST_CASE("the four files of the set are read") {
  const fastgpu::test::TempDirectory folder;
  write_gzip(folder.path() / "train-images-idx3-ubyte.gz", images(3));
  write_gzip(folder.path() / "train-labels-idx1-ubyte.gz", idx_of({3}, {1, 2, 3}));
  write(folder.path() / "t10k-images-idx3-ubyte", images(1));
  write(folder.path() / "t10k-labels-idx1-ubyte", idx_of({1}, {4}));
  const training::Split split = load_fashion(folder.path());
  CHECK(split.training.size() == 3);
  CHECK(split.training.width == 784);
  CHECK(split.test.classes == Bytes{4});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fashion
