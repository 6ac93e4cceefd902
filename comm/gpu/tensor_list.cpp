#include "comm/gpu/tensor_list.hpp"

#include <algorithm>

namespace fastgpu::comm::gpu {
namespace {

constexpr auto kNoneBytes = std::byte{0xff};

/// Copies on the default stream, and waits: the memory may be used on any stream then.
void upload(std::span<std::byte> to, std::span<const std::byte> from) {
  copy_async(to, from, nullptr);
}

}  // namespace

TensorList::TensorList(std::span<const Tensor> tensors) : TensorList(tiled(tensors)) {}

TensorList::TensorList(std::span<const PlacedTensor> tensors) : TensorList(tiled(tensors)) {}

TensorList::TensorList(const TiledList& list)
    : tensors_(list.tensors.size()),
      elements_(list.elements),
      memory_(std::as_bytes(std::span(list.tensors)).size() +
              std::as_bytes(std::span(list.tensor_of_tile)).size()) {
  const auto rows = std::as_bytes(std::span(list.tensors));
  const auto tiles = std::as_bytes(std::span(list.tensor_of_tile));
  upload(memory_.span().first(rows.size()), rows);
  upload(memory_.span().subspan(rows.size()), tiles);
  Event uploaded;
  uploaded.record(nullptr);
  uploaded.synchronize();
  const std::byte* const memory = memory_.span().data();
  map_ = {reinterpret_cast<const TiledTensor*>(memory),
          reinterpret_cast<const std::uint32_t*>(memory + rows.size()), list.tensor_of_tile.size()};
}

std::size_t packed_bytes(const TensorList& list, ElementType to) noexcept {
  return list.elements() * size_of(to);
}

NonFiniteTable::NonFiniteTable(std::size_t tensors)
    : found_(tensors * sizeof(std::uint64_t)), fetched_(tensors * sizeof(std::uint64_t)) {
  std::ranges::fill(fetched_.span(), kNoneBytes);
  Event cleared;
  fill_async(found_.span(), kNoneBytes, nullptr);
  cleared.record(nullptr);
  cleared.synchronize();
}

std::uint64_t* NonFiniteTable::device() const noexcept {
  return reinterpret_cast<std::uint64_t*>(found_.span().data());
}

void NonFiniteTable::fetch(StreamHandle stream) {
  copy_async(fetched_.span(), found_.span(), stream);
  fill_async(found_.span(), kNoneBytes, stream);
}

std::span<const std::uint64_t> NonFiniteTable::fetched() const noexcept {
  const auto bytes = fetched_.span();
  return {reinterpret_cast<const std::uint64_t*>(bytes.data()),
          bytes.size() / sizeof(std::uint64_t)};
}

std::optional<NonFinite> NonFiniteTable::first() const noexcept {
  const auto all = fetched();
  const auto met = std::ranges::find_if(all, [](std::uint64_t index) { return index != kNone; });
  if (met == all.end()) return std::nullopt;
  return NonFinite{static_cast<std::size_t>(met - all.begin()), *met};
}

}  // namespace fastgpu::comm::gpu
