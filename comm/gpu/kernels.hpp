// The kernels of comm/kernels and comm/reduce for device memory: same names, same results to the
// last bit. Each is one launch, put into a stream of the caller's and not waited for. Spans and
// lists are of the current device's memory, aligned for one element; odd offsets cost speed alone.
//
// Throws ErrorKind::usage for a conversion that is not possible, ErrorKind::local where CUDA
// refuses.
#pragma once

#include <cstddef>
#include <span>

#include "comm/gpu/memory.hpp"
#include "comm/gpu/tensor_list.hpp"
#include "comm/kernels/convert.hpp"
#include "comm/reduce.hpp"

namespace fastgpu::comm::gpu {

/// Writes the tensors to `buffer`, one after the other without gaps.
void pack(std::span<std::byte> buffer, const TensorList& tensors, const Conversion& conversion,
          StreamHandle stream);

/// The same, and tells `found`, which is as long as the list, per tensor where what was written
/// first is NaN or infinite.
void pack_checked(std::span<std::byte> buffer, const TensorList& tensors,
                  const Conversion& conversion, NonFiniteTable& found, StreamHandle stream);

/// The reverse: here `conversion` is from the buffer's type to that of the tensors.
void unpack(const TensorList& tensors, std::span<const std::byte> buffer,
            const Conversion& conversion, StreamHandle stream);

/// The same, added to what the tensors hold. Floating-point types only.
void unpack_and_add(const TensorList& tensors, std::span<const std::byte> buffer,
                    const Conversion& conversion, StreamHandle stream);

/// Tells `found`, per tensor, of the first NaN or infinity.
void first_non_finite(const TensorList& tensors, ElementType type, NonFiniteTable& found,
                      StreamHandle stream);

/// into[i] = into[i] op from[i]; average adds, and `finish` divides.
void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction,
                 StreamHandle stream);

/// Turns what was accumulated over `ranks` contributions, at least one, into the result.
void finish(std::span<std::byte> data, Reduction reduction, int ranks, StreamHandle stream);

}  // namespace fastgpu::comm::gpu
