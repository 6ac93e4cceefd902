// The kernels of comm/kernels and comm/reduce for device memory: same names, same results to the
// last bit. Each is one launch, put into the caller's stream and not waited for. Spans and lists
// lists are of the current device's memory, aligned for one element; odd offsets cost speed alone.
//
// Each throws ErrorKind::usage for a conversion that is not possible, ErrorKind::local if CUDA
// refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/gpu/code_table.hpp"
#include "comm/gpu/memory.hpp"
#include "comm/gpu/tensor_list.hpp"
#include "comm/kernels/convert.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm::gpu {

/// Writes the tensors to `buffer`, one after the other without gaps.
void pack(std::span<std::byte> buffer, const TensorList& tensors, const Conversion& conversion,
          StreamHandle stream);

/// Packs, and writes to `found`, which is as long as the list, the first place per tensor at which
/// a written value is NaN or infinite.
void pack_checked(std::span<std::byte> buffer, const TensorList& tensors,
                  const Conversion& conversion, NonFiniteTable& found, StreamHandle stream);

/// Does the reverse of pack: here `conversion` is from the buffer's type to that of the tensors.
void unpack(const TensorList& tensors, std::span<const std::byte> buffer,
            const Conversion& conversion, StreamHandle stream);

/// Unpacks, but adds to the tensors' values. Floating-point types only.
void unpack_and_add(const TensorList& tensors, std::span<const std::byte> buffer,
                    const Conversion& conversion, StreamHandle stream);

/// Writes the first NaN or infinity of each tensor to `found`.
void first_non_finite(const TensorList& tensors, ElementType type, NonFiniteTable& found,
                      StreamHandle stream);

/// Reduces: into[i] = into[i] op from[i]; average adds, and `finish` divides.
void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction,
                 StreamHandle stream);

/// Writes the codes of float32 numbers to the places of their runs, with the bits of comm/codecs.
/// A codec that has feedback leaves what its codes do not carry in `numbers`. Several launches for
/// the largest numbers.
void encode(std::span<std::byte> code, std::span<std::byte> numbers, const CodeTable& table,
            std::uint64_t seed, StreamHandle stream);

/// Adds what the codes stand for to float32 numbers. Codes of the largest numbers must be valid.
void add_codes(std::span<std::byte> sum, std::span<const std::byte> code, const CodeTable& table,
               StreamHandle stream);

/// Turns the accumulation of `ranks` contributions, at least one, into the result.
void finish(std::span<std::byte> data, Reduction reduction, int ranks, StreamHandle stream);

}  // namespace fastgpu::comm::gpu
