// Encoding, and adding what codes stand for, through the runs of a table.
#include "comm/gpu/block_code_phases.hpp"
#include "comm/gpu/kernels.hpp"
#include "comm/gpu/largest_phases.hpp"
#include "comm/gpu/launch.hpp"

namespace fastgpu::comm::gpu {
namespace {

static_assert(kThreadsOfTile == kLanesInWarp);

/// Work that the threads of a warp do together, phase after phase.
template <class Phases>
struct InPhases {
  using Scratch = typename Phases::Scratch;
  Phases phases;

  __device__ void operator()(std::uint64_t tile, Share share) const {
    __shared__ Scratch of_warps[kWarpsInBlock];
    Scratch& scratch = of_warps[threadIdx.x / kLanesInWarp];
    const unsigned steps = phases.steps(tile);
    for (unsigned step = 0; step < steps; ++step)
      go<0>(tile, step, share.lane, scratch);
  }

 private:
  template <int kPhase>
  __device__ void go(std::uint64_t tile, unsigned step, unsigned lane, Scratch& scratch) const {
    phases.template go<kPhase>(tile, step, lane, scratch);
    __syncwarp();
    if constexpr (kPhase + 1 < Phases::kPhases) go<kPhase + 1>(tile, step, lane, scratch);
  }
};

template <class Phases>
void launch_phases(std::uint64_t tiles, const Phases& phases, StreamHandle stream,
                   std::string_view doing) {
  launch(tiles, InPhases<Phases>{phases}, stream, doing);
}

template <int kDigit>
void find_digit(const CodeTable& table, const float* numbers, StreamHandle stream) {
  const CodeMap& map = table.map();
  const std::string_view doing = "looking for the largest numbers";
  launch_phases(map.tiles.tiles, CountDigit<kDigit>{map, numbers, table.largest()}, stream, doing);
  launch_phases(map.count_of_runs, PickDigit<kDigit>{map, table.largest()}, stream, doing);
}

void encode_largest(std::byte* code, float* numbers, const CodeTable& table, StreamHandle stream) {
  static_assert(kDigits == 4);
  find_digit<0>(table, numbers, stream);
  find_digit<1>(table, numbers, stream);
  find_digit<2>(table, numbers, stream);
  find_digit<3>(table, numbers, stream);
  const CodeMap& map = table.map();
  const LargestState& state = table.largest();
  const std::string_view doing = "writing the largest numbers";
  launch_phases(map.tiles.tiles, TallyLargest{map, numbers, state}, stream, doing);
  launch_phases(map.count_of_runs, PlaceLargest{map, state, code}, stream, doing);
  launch_phases(map.tiles.tiles, WriteLargest{map, numbers, state, code}, stream, doing);
}

}  // namespace

void encode(std::span<std::byte> code, std::span<std::byte> numbers, const CodeTable& table,
            std::uint64_t seed, StreamHandle stream) {
  const CodeMap& map = table.map();
  auto* const floats = reinterpret_cast<float*>(numbers.data());
  switch (table.codec()) {
    case CodecId::int8:
      return launch_phases(map.tiles.tiles, EncodeInt8{map, floats, code.data(), seed}, stream,
                           "encoding int8");
    case CodecId::one_bit:
      return launch_phases(map.tiles.tiles, EncodeSigns{map, floats, code.data()}, stream,
                           "encoding signs");
    case CodecId::top_k:
      return encode_largest(code.data(), floats, table, stream);
    case CodecId::power_sgd:
      break;  // No table has it.
  }
}

void add_codes(std::span<std::byte> sum, std::span<const std::byte> code, const CodeTable& table,
               StreamHandle stream) {
  const CodeMap& map = table.map();
  auto* const floats = reinterpret_cast<float*>(sum.data());
  const std::string_view doing = "adding codes";
  switch (table.codec()) {
    case CodecId::int8:
      return launch_phases(map.tiles.tiles, AddInt8{map, floats, code.data()}, stream, doing);
    case CodecId::one_bit:
      return launch_phases(map.tiles.tiles, AddSigns{map, floats, code.data()}, stream, doing);
    case CodecId::top_k:
      return launch_phases(map.tiles.tiles, AddLargest{map, floats, code.data()}, stream, doing);
    case CodecId::power_sgd:
      break;
  }
}

}  // namespace fastgpu::comm::gpu
