#include "comm/gpu/code_table.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/codecs/top_k.hpp"

namespace fastgpu::comm::gpu {
namespace {

/// Returns the runs as tensors without memory: their numbers are in a buffer of each call.
std::vector<PlacedTensor> placed_runs(const CodecChoice& codec, std::span<const CodeStretch> runs) {
  if (entry_of(codec.id).is_linear)
    throw Error(ErrorKind::usage,
                std::string(entry_of(codec.id).name) + " has no code of single numbers");
  std::vector<PlacedTensor> placed;
  placed.reserve(runs.size());
  for (const CodeStretch& run : runs)
    placed.push_back({{nullptr, run.count}, run.at});
  return placed;
}

std::uint64_t tiles_of_all(std::span<const CodeStretch> runs) {
  std::uint64_t tiles = 0;
  for (const CodeStretch& run : runs)
    tiles += tiles_of(run.count);
  return tiles;
}

std::size_t selection_bytes(const CodecChoice& codec, std::span<const CodeStretch> runs) {
  if (codec.id != CodecId::top_k) return 0;
  return tiles_of_all(runs) * sizeof(TallyOfTile) +
         runs.size() * (kDigitValues * sizeof(std::uint32_t) + sizeof(LimitOfRun));
}

}  // namespace

CodeTable::CodeTable(const CodecChoice& codec, std::span<const CodeStretch> runs)
    : codec_(codec.id),
      tiles_(placed_runs(codec, runs)),
      runs_(runs.size() * sizeof(CodeRunOnDevice)),
      selection_(selection_bytes(codec, runs)) {
  std::vector<CodeRunOnDevice> described;
  for (const CodeStretch& run : runs) {
    const std::size_t wanted = codec.id == CodecId::top_k ? TopK(codec.part).entries(run.count) : 0;
    described.push_back({run.code, run.chance, wanted});
  }
  copy_async(runs_.span(), std::as_bytes(std::span(described)), nullptr);
  fill_async(selection_.span(), std::byte{0}, nullptr);
  Event ready;
  ready.record(nullptr);
  ready.synchronize();
  map_ = {tiles_.map(), reinterpret_cast<const CodeRunOnDevice*>(runs_.span().data()), runs.size()};
  if (codec_ != CodecId::top_k) return;
  std::byte* at = selection_.span().data();
  largest_.tallies = reinterpret_cast<TallyOfTile*>(at);
  at += tiles_of_all(runs) * sizeof(TallyOfTile);
  largest_.limits = reinterpret_cast<LimitOfRun*>(at);
  at += runs.size() * sizeof(LimitOfRun);
  largest_.counts = reinterpret_cast<std::uint32_t*>(at);
}

}  // namespace fastgpu::comm::gpu
