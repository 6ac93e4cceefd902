#include "transfer/packing.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <zstd.h>

#include <fstream>

#include "base/unique_fd.hpp"
#include "support/failure.hpp"
#include "support/noise.hpp"
#include "support/tar_archive.hpp"
#include "support/temp_directory.hpp"
#include "transfer/record.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

std::string block_of(std::string_view content) {
  std::string out;
  encode(out, BlockRecord{content});
  return out;
}

/// A run of records that says to be of `size` bytes.
std::string packed_run(std::string_view packed, std::uint32_t size) {
  std::string out = "P";
  for (const std::uint32_t number : {size, static_cast<std::uint32_t>(packed.size())})
    for (unsigned shift = 0; shift < 32; shift += 8)
      out += static_cast<char>((number >> shift) & 0xffU);
  return out.append(packed);
}

void decode_all(std::string_view stream) {
  Decoder decoder;
  decoder.add(stream);
  while (decoder.next()) {
  }
}

TEST_SUITE_BEGIN("transfer/packing");

TEST_CASE("a run comes back as it was, in much less than its size") {
  Packer packer;
  Unpacker unpacker;
  for (const std::size_t size : {std::size_t{1000}, kLongestRun}) {
    const std::string run(size, 'a');
    const auto packed = packer.pack(run);
    REQUIRE(packed);
    CHECK(packed->size() < size / 20);
    CHECK(unpacker.unpack(*packed, size) == run);
  }
}

TEST_CASE("of what does not shrink fewer and fewer runs are tried, until one does") {
  const std::string random = noise(4096);
  const std::string plain(4096, 'a');
  Packer packer;
  CHECK_FALSE(packer.pack(random));
  CHECK_FALSE(packer.pack(plain));
  CHECK_FALSE(packer.pack(random));
  int passed = 0;
  while (!packer.pack(plain))
    ++passed;
  CHECK(passed == 2);
  CHECK(packer.pack(plain));
}

TEST_CASE("packed records are the same records, in pieces of any size") {
  const std::string content(100'000, 'c');
  Packer packer;
  std::string stream = pack_records(block_of(content) + block_of("x"), packer);
  stream += pack_records(block_of("too short to shrink"), packer);
  CHECK(stream.size() < 1000);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    Decoder decoder;
    std::vector<std::string> blocks;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.add(std::string_view(stream).substr(at, piece));
      while (const auto record = decoder.next())
        blocks.emplace_back(std::get<BlockRecord>(*record).bytes);
    }
    CHECK(blocks == std::vector<std::string>{content, "x", "too short to shrink"});
  }
}

TEST_CASE("all that a descriptor gives is one frame, whatever its size") {
  for (const std::size_t size : {0UL, 1UL, 4'000'000UL}) {
    const std::string content = noise(size / 2) + std::string(size - size / 2, 'x');
    const test::TempDirectory folder;
    std::ofstream(folder.path() / "content", std::ios::binary) << content;
    const UniqueFd file(::open((folder.path() / "content").c_str(), O_RDONLY | O_CLOEXEC));
    std::string packed;
    pack_all(file.get(), [&](std::string_view piece) { packed += piece; });
    std::string whole(size + 1, '\0');
    whole.resize(ZSTD_decompress(whole.data(), whole.size(), packed.data(), packed.size()));
    CHECK((whole == content));
    CHECK(packed.size() < size / 2 + size / 50 + 100);
  }
}

/// What comes of unpacking it, some bytes at a time.
std::string unpacked(const std::string& packed, std::size_t step) {
  const test::TempDirectory folder;
  std::ofstream(folder.path() / "packed", std::ios::binary) << packed;
  const UniqueFd file(::open((folder.path() / "packed").c_str(), O_RDONLY | O_CLOEXEC));
  PackedStream stream(file.get());
  std::string whole;
  std::string piece(step, '\0');
  for (std::size_t size = step; size == step; whole.append(piece, 0, size))
    size = stream.read(piece);
  return whole;
}

TEST_CASE("what was packed comes back whole, also where it is more than one frame") {
  const std::string first = noise(300'000) + std::string(2'000'000, 'x');
  const std::string packed = test::zstd_frame(first) + test::zstd_frame("and more");
  for (const std::size_t step : {777UL, 100'000UL, 10'000'000UL})
    CHECK((unpacked(packed, step) == first + "and more"));
  CHECK(unpacked("", 100).empty());
}

TEST_CASE("what was not packed, or is cut off, is not unpacked") {
  const std::string packed = test::zstd_frame(noise(300'000));
  for (const std::size_t size : {1UL, 100UL, packed.size() / 2, packed.size() - 1})
    CHECK(test::mentions(failure_of([&] { unpacked(packed.substr(0, size), 1000); }), "cut off"));
  for (const std::string& bad : {std::string("no zstd at all"), packed + "and what is none"})
    CHECK(test::mentions(failure_of([&] { unpacked(bad, 1000); }), "cannot be unpacked"));
}

TEST_CASE("a run that is not what it says is refused, before memory is taken for it") {
  Packer packer;
  const std::string records = block_of(std::string(1000, 'b'));
  const std::string packed(packer.pack(records).value());
  const auto size = static_cast<std::uint32_t>(records.size());
  CHECK_NOTHROW(decode_all(packed_run(packed, size)));
  const std::string in_itself =
      packed_run(packer.pack(packed_run(packed, size) + std::string(999, '\0')).value(),
                 static_cast<std::uint32_t>(packed.size() + 9 + 999));
  for (const std::string& bad :
       {packed_run(packed, size - 1), packed_run(packed, size + 1), packed_run(packed, 0),
        packed_run(packed, 0xffffffff), packed_run(packed.substr(1), size), packed_run("", size),
        packed_run(noise(100), size), in_itself})
    CHECK(failure_of([&] { decode_all(bad); }).kind() == ErrorKind::remote);
}

TEST_CASE("a record does not go on after the run that it is packed in") {
  Packer packer;
  const std::string records = block_of(std::string(1000, 'b'));
  const std::string half = pack_records(records.substr(0, 900), packer);
  const std::string rest = pack_records(records.substr(900), packer);
  CHECK(failure_of([&] { decode_all(half + rest); }).kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
