// Many tensors to and from one contiguous buffer, converted, scaled and checked on the way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {

struct ConstTensor {
  const std::byte* data = nullptr;  ///< Aligned for its type; may be null where count is 0.
  std::size_t count = 0;            ///< Elements.
};

struct Tensor {
  std::byte* data = nullptr;
  std::size_t count = 0;
};

/// The first value that is not finite: in the order of the list, then of elements.
struct NonFinite {
  std::size_t tensor = 0;  ///< The tensor's place in the list.
  std::size_t index = 0;   ///< The element's index within its tensor.

  friend bool operator==(const NonFinite&, const NonFinite&) = default;
};

/// Returns the bytes that `tensors` take in a buffer of elements of type `to`.
std::size_t packed_bytes(std::span<const ConstTensor> tensors, ElementType to) noexcept;

/// Writes the tensors to `buffer`, one after the other without gaps. `buffer` has packed_bytes,
/// and overlaps none of them. Throws ErrorKind::usage for a conversion that is not possible.
void pack(std::span<std::byte> buffer, std::span<const ConstTensor> tensors,
          const Conversion& conversion, const Kernels& with = kernels());

/// Packs, and returns the first place at which a written value is NaN or infinite. All is written
/// in any case.
std::optional<NonFinite> pack_checked(std::span<std::byte> buffer,
                                      std::span<const ConstTensor> tensors,
                                      const Conversion& conversion,
                                      const Kernels& with = kernels());

/// Does the reverse of pack: here `conversion` is from the buffer's type to that of the tensors.
void unpack(std::span<const Tensor> tensors, std::span<const std::byte> buffer,
            const Conversion& conversion, const Kernels& with = kernels());

/// Unpacks, but adds to the tensors' values. Floating-point types only.
void unpack_and_add(std::span<const Tensor> tensors, std::span<const std::byte> buffer,
                    const Conversion& conversion, const Kernels& with = kernels());

/// Returns the first NaN or infinity of a list.
std::optional<NonFinite> first_non_finite(std::span<const ConstTensor> tensors, ElementType type,
                                          const Kernels& with = kernels());

}  // namespace fastgpu::comm
