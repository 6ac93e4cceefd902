#include "comm/gradients/gradient_memory.hpp"

#include <algorithm>

#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {

void GradientMemory::add(std::span<std::byte> values) {
  values_.push_back(values);
  of_step_.emplace_back();
}

bool GradientMemory::has_views() const noexcept {
  return std::ranges::any_of(values_, [](auto values) { return values.empty(); });
}

void GradientMemory::step_ended() {
  std::ranges::fill(of_step_, std::span<std::byte>());
}

std::span<std::byte> GradientMemory::of(GradientId id) const noexcept {
  const std::span<std::byte> now = of_step_[id.value];
  return now.empty() ? values_[id.value] : now;
}

std::optional<std::size_t> GradientMemory::pack(const GradientPiece& piece, std::span<std::byte> to,
                                                const Packing& packing) const {
  const std::span<const std::byte> memory = of(piece.gradient);
  const bool is_in_place = memory.empty();
  const ElementType type = is_in_place ? packing.wire : table_[piece.gradient].type;
  const std::span<const std::byte> from =
      is_in_place ? to : memory.subspan(piece.first * size_of(type), piece.count * size_of(type));
  const Conversion conversion{type, packing.wire, packing.scale, packing.past_caches};
  if (packing.is_searched) {
    if (is_in_place && conversion.scale == 1) return first_non_finite(to, packing.wire);
    return convert_checked(to, from, conversion);
  }
  convert(to, from, conversion);
  return std::nullopt;
}

void GradientMemory::unpack(const GradientPiece& piece, std::span<const std::byte> from,
                            const Packing& packing) const {
  const ElementType type = table_[piece.gradient].type;
  const std::size_t size = size_of(type);
  convert(of(piece.gradient).subspan(piece.first * size, piece.count * size), from,
          {packing.wire, type, 1, packing.past_caches});
}

}  // namespace fastgpu::comm
