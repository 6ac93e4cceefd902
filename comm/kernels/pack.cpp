#include "comm/kernels/pack.hpp"

namespace fastgpu::comm {
namespace {

/// Calls body(place in the list, its part of the buffer, its own bytes) for every tensor.
template <class Buffer, class Tensors, class Body>
void for_each_tensor(Buffer buffer, Tensors tensors, std::size_t packed_size,
                     std::size_t tensor_size, Body body) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t bytes = tensors[i].count * packed_size;
    body(i, buffer.subspan(at, bytes), std::span(tensors[i].data, tensors[i].count * tensor_size));
    at += bytes;
  }
}

}  // namespace

std::size_t packed_bytes(std::span<const ConstTensor> tensors, ElementType to) noexcept {
  std::size_t count = 0;
  for (const ConstTensor& tensor : tensors)
    count += tensor.count;
  return count * size_of(to);
}

void pack(std::span<std::byte> buffer, std::span<const ConstTensor> tensors,
          const Conversion& conversion, const Kernels& with) {
  for_each_tensor(buffer, tensors, size_of(conversion.to), size_of(conversion.from),
                  [&](std::size_t, std::span<std::byte> part, std::span<const std::byte> tensor) {
                    convert(part, tensor, conversion, with);
                  });
}

std::optional<NonFinite> pack_checked(std::span<std::byte> buffer,
                                      std::span<const ConstTensor> tensors,
                                      const Conversion& conversion, const Kernels& with) {
  std::optional<NonFinite> first;
  for_each_tensor(
      buffer, tensors, size_of(conversion.to), size_of(conversion.from),
      [&](std::size_t place, std::span<std::byte> part, std::span<const std::byte> tensor) {
        if (first) return convert(part, tensor, conversion, with);
        if (const auto index = convert_checked(part, tensor, conversion, with))
          first = NonFinite{place, *index};
      });
  return first;
}

void unpack(std::span<const Tensor> tensors, std::span<const std::byte> buffer,
            const Conversion& conversion, const Kernels& with) {
  for_each_tensor(buffer, tensors, size_of(conversion.from), size_of(conversion.to),
                  [&](std::size_t, std::span<const std::byte> part, std::span<std::byte> tensor) {
                    convert(tensor, part, conversion, with);
                  });
}

void unpack_and_add(std::span<const Tensor> tensors, std::span<const std::byte> buffer,
                    const Conversion& conversion, const Kernels& with) {
  for_each_tensor(buffer, tensors, size_of(conversion.from), size_of(conversion.to),
                  [&](std::size_t, std::span<const std::byte> part, std::span<std::byte> tensor) {
                    convert_and_add(tensor, part, conversion, with);
                  });
}

std::optional<NonFinite> first_non_finite(std::span<const ConstTensor> tensors, ElementType type,
                                          const Kernels& with) {
  for (std::size_t place = 0; place < tensors.size(); ++place) {
    const std::span data(tensors[place].data, tensors[place].count * size_of(type));
    if (const auto index = first_non_finite(data, type, with)) return NonFinite{place, *index};
  }
  return std::nullopt;
}

}  // namespace fastgpu::comm
