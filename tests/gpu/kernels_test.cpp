// Every kernel beside the CPU's kernel of the same name, bit by bit.
#include "comm/gpu/kernels.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "comm/kernels/pack.hpp"
#include "gpu/device_list.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm::gpu {
namespace {

using enum ElementType;
using test::Counts;
using test::DeviceBytes;
using test::DeviceTensors;

constexpr ElementType kAllTypes[] = {float32, float64,  int32, int64,
                                     float16, bfloat16, int8,  uint8};

struct Types {
  ElementType from;
  ElementType to;
};

constexpr Types kScaled[] = {{float32, float32},   {float32, float16}, {float32, bfloat16},
                             {float16, float32},   {float16, float16}, {bfloat16, float32},
                             {bfloat16, bfloat16}, {float64, float64}};

/// All that these kernels are asked: every pair of types with scales, and every type as it is.
std::vector<Conversion> conversions() {
  std::vector<Conversion> all;
  for (const Types& types : kScaled)
    for (const double scale : {1.0, 0.5, 1.0 / 3})
      all.push_back({types.from, types.to, scale});
  for (const ElementType type : kAllTypes)
    all.push_back({type, type});
  return all;
}

std::string described(const Conversion& conversion) {
  return std::string(name_of(conversion.from)) + " to " + std::string(name_of(conversion.to)) +
         " times " + std::to_string(conversion.scale);
}

TEST_SUITE_BEGIN("gpu/kernels");

TEST_CASE("a list is packed as the CPU packs it, and the same is found") {
  std::mt19937_64 random(1);
  for (const Conversion& conversion : conversions()) {
    CAPTURE(described(conversion));
    for (const std::size_t offset : {0, 1, 2, 8}) {
      const Counts counts = test::random_counts(random);
      const DeviceTensors tensors(counts, conversion.from, 3);
      const TensorList list(tensors.on_device());
      const std::size_t size = size_of(conversion.to);
      DeviceBytes buffer(packed_bytes(list, conversion.to), uint8, offset * size, 4);
      NonFiniteTable found(list.size());
      const GpuStream stream;

      pack(buffer.span(), list, conversion, stream.handle());
      stream.synchronize();
      std::vector<std::byte> expected(buffer.host_values().size());
      const auto first = comm::pack_checked(expected, tensors.read_only(), conversion);
      CHECK(buffer.download() == expected);

      fill_async(buffer.span(), std::byte{0x55}, stream.handle());
      pack_checked(buffer.span(), list, conversion, found, stream.handle());
      found.fetch(stream.handle());
      stream.synchronize();
      CHECK(buffer.download() == expected);
      CHECK(found.first() == first);
    }
  }
}

TEST_CASE("a buffer is unpacked as the CPU unpacks it, and nothing between tensors is touched") {
  std::mt19937_64 random(2);
  for (const Conversion& conversion : conversions()) {
    CAPTURE(described(conversion));
    for (const std::size_t offset : {0, 1, 3}) {
      const Counts counts = test::random_counts(random);
      DeviceTensors tensors(counts, conversion.to, 5);
      const TensorList list(tensors.on_device());
      const std::size_t size = size_of(conversion.from);
      DeviceBytes buffer(test::sum_of(counts) * size, conversion.from, offset * size, 6);
      const GpuStream stream;
      unpack(list, buffer.span(), conversion, stream.handle());
      stream.synchronize();
      comm::unpack(tensors.on_host(), buffer.host(), conversion);
      CHECK(tensors.download() == tensors.host());
    }
  }
}

TEST_CASE("a buffer is added as the CPU adds it") {
  std::mt19937_64 random(3);
  for (const Types& types : kScaled) {
    const Conversion conversion{types.from, types.to, 1.0 / 3};
    CAPTURE(described(conversion));
    const Counts counts = test::random_counts(random);
    DeviceTensors tensors(counts, conversion.to, 7);
    const TensorList list(tensors.on_device());
    DeviceBytes buffer(test::sum_of(counts) * size_of(conversion.from), conversion.from,
                       size_of(conversion.from), 8);
    const GpuStream stream;
    unpack_and_add(list, buffer.span(), conversion, stream.handle());
    stream.synchronize();
    comm::unpack_and_add(tensors.on_host(), buffer.host(), conversion);
    CHECK(tensors.download() == tensors.host());
  }
}

TEST_CASE("the first NaN or infinity of every tensor is found, wherever it is") {
  std::mt19937_64 random(4);
  for (const ElementType type : {float32, float64, float16, bfloat16}) {
    CAPTURE(std::string(name_of(type)));
    for (int round = 0; round < 20; ++round) {
      const Counts counts = test::random_counts(random);
      DeviceTensors tensors(counts, type, 9);
      auto on_host = tensors.on_host();
      std::vector<std::uint64_t> expected;
      for (const Tensor& tensor : on_host) {
        std::memset(tensor.data, 0x3c, tensor.count * size_of(type));
        expected.push_back(NonFiniteTable::kNone);
        if (tensor.count == 0 || random() % 3 > 0) continue;
        expected.back() = random() % tensor.count;
        const auto bits = test::special_bits(type)[2 + random() % 2];
        std::memcpy(tensor.data + expected.back() * size_of(type), &bits, size_of(type));
      }
      tensors.upload();
      const TensorList list(tensors.on_device());
      NonFiniteTable found(list.size());
      const GpuStream stream;
      first_non_finite(list, type, found, stream.handle());
      found.fetch(stream.handle());
      stream.synchronize();
      CHECK(std::vector(found.fetched().begin(), found.fetched().end()) == expected);
      CHECK(found.first() == comm::first_non_finite(tensors.read_only(), type));
    }
  }
}

TEST_CASE("what was found is forgotten once it has been fetched") {
  DeviceTensors tensors({100}, float32, 1);
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tensors.on_host()[0].data, &infinity, sizeof(infinity));
  tensors.upload();
  const TensorList list(tensors.on_device());
  NonFiniteTable found(1);
  const GpuStream stream;
  first_non_finite(list, float32, found, stream.handle());
  found.fetch(stream.handle());
  stream.synchronize();
  CHECK(found.first() == NonFinite{0, 0});
  found.fetch(stream.handle());
  stream.synchronize();
  CHECK(found.first() == std::nullopt);
}

TEST_CASE("every type is reduced with every operation as the CPU does it") {
  for (const ElementType type : kAllTypes) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product}) {
      CAPTURE(std::string(name_of(op)) + " of " + std::string(name_of(type)));
      for (const std::size_t count : {0, 1, 1000, 123'457}) {
        for (const std::size_t offset : {0, 1, 2}) {
          const std::size_t size = size_of(type);
          DeviceBytes into(count * size, type, offset * size, 10);
          DeviceBytes from(count * size, type, size, 11);
          const Reduction reduction{type, op};
          const GpuStream stream;
          reduce_into(into.span(), from.span(), reduction, stream.handle());
          finish(into.span(), reduction, 3, stream.handle());
          stream.synchronize();
          comm::reduce_into(into.host(), from.host(), reduction);
          comm::finish(into.host(), reduction, 3);
          CHECK(into.download() == into.host_values());
        }
      }
    }
  }
}

TEST_CASE("codes and what they leave have the CPU's bits") {
  constexpr std::uint64_t kSeed = 0x0123456789abcdef;
  const CodecChoice choices[] = {
      {CodecId::int8}, {CodecId::one_bit}, {CodecId::top_k, 0.01}, {CodecId::top_k, 0.3}};
  for (const CodecChoice& choice : choices)
    for (const std::size_t gap : {0, 1, 3}) {
      CAPTURE(text_of(choice));
      CAPTURE(gap);
      const auto codec = make_codec(choice);
      std::vector<CodeStretch> runs;
      std::size_t at = gap, bytes = gap;
      for (const std::size_t count : {1, 255, 512, 2049, 70'000, 1'000'003, 3}) {
        runs.push_back({at, count, bytes, 31 * at});
        at += count + gap;
        bytes += codec->encoded_bytes(count) + gap;
      }
      DeviceBytes numbers(at * sizeof(float), float32, sizeof(float) * gap, 21);
      DeviceBytes code(bytes, uint8, gap, 22);
      DeviceBytes sum(at * sizeof(float), float32, 0, 23);
      const CodeTable table(choice, runs);
      const GpuStream stream;
      for (int round = 0; round < 2; ++round) {  // The memory of a table is used again.
        encode(code.span(), numbers.span(), table, kSeed, stream.handle());
        add_codes(sum.span(), code.span(), table, stream.handle());
        stream.synchronize();
        const auto floats = [](std::span<std::byte> of) {
          return std::span(reinterpret_cast<float*>(of.data()), of.size() / sizeof(float));
        };
        for (const CodeStretch& run : runs) {
          const auto values = floats(numbers.host()).subspan(run.at, run.count);
          const auto to = code.host().subspan(run.code, codec->encoded_bytes(run.count));
          if (entry_of(choice.id).has_feedback)
            codec->encode_with_feedback(to, values, kSeed ^ run.chance);
          else
            codec->encode(to, values, kSeed ^ run.chance);
          codec->add(floats(sum.host()).subspan(run.at, run.count), to, 1);
        }
        CHECK(code.download() == code.host_values());
        CHECK(numbers.download() == numbers.host_values());
        CHECK(sum.download() == sum.host_values());
      }
    }
}

TEST_CASE("an empty list takes no launch") {
  const TensorList list(std::vector<Tensor>{{nullptr, 0}, {nullptr, 0}});
  const GpuStream stream;
  CHECK_NOTHROW(pack({}, list, {float32, float16}, stream.handle()));
  CHECK_NOTHROW(unpack(list, {}, {float16, float32}, stream.handle()));
}

TEST_CASE("a conversion that is not possible is refused by name") {
  const TensorList list(std::vector<Tensor>{});
  const Error e = test::failure_of([&] { pack({}, list, {int32, float32}, nullptr); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("int32") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
