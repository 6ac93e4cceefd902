// pack, unpack and the search over a list, for every pair of types.
#include <cassert>
#include <string>

#include "base/error.hpp"
#include "comm/gpu/convert_steps.hpp"
#include "comm/gpu/find_step.hpp"
#include "comm/gpu/kernels.hpp"
#include "comm/gpu/launch.hpp"

namespace fastgpu::comm::gpu {
namespace {

template <class To, class From>
struct Pack {
  TileMap map;
  To* buffer;
  LaneOf<To> scale;
  std::uint64_t* found;  ///< Null if it is not needed.

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    const From* const from = reinterpret_cast<const From*>(tile.data) + tile.begin;
    ConvertStep<To, From> step{buffer + tile.packed, from, scale};
    walk_both<kWidthOf<To, From>>(from, step.to, tile.count, share, step);
    if (found != nullptr) report(step, tile, share, found);
  }
};

template <class To, class From>
struct Unpack {
  TileMap map;
  const From* buffer;
  LaneOf<To> scale;

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    To* const to = reinterpret_cast<To*>(tile.data) + tile.begin;
    ConvertStep<To, From> step{to, buffer + tile.packed, scale};
    walk_both<kWidthOf<To, From>>(step.from, to, tile.count, share, step);
  }
};

template <class To, class From>
struct UnpackAndAdd {
  TileMap map;
  const From* buffer;
  LaneOf<To> scale;

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    To* const to = reinterpret_cast<To*>(tile.data) + tile.begin;
    AddStep<To, From> step{to, buffer + tile.packed, scale};
    walk_both<kWidthOf<To, From>>(step.from, to, tile.count, share, step);
  }
};

template <class Bits>
struct PackBits {
  TileMap map;
  Bits* buffer;

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    const Bits* const from = reinterpret_cast<const Bits*>(tile.data) + tile.begin;
    CopyStep<Bits> step{buffer + tile.packed, from};
    walk_both<kWidthOf<Bits, Bits>>(from, step.to, tile.count, share, step);
  }
};

template <class Bits>
struct UnpackBits {
  TileMap map;
  const Bits* buffer;

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    Bits* const to = reinterpret_cast<Bits*>(tile.data) + tile.begin;
    CopyStep<Bits> step{to, buffer + tile.packed};
    walk_both<kWidthOf<Bits, Bits>>(step.from, to, tile.count, share, step);
  }
};

template <class T>
struct Search {
  TileMap map;
  std::uint64_t* found;

  __device__ void operator()(std::uint64_t number, Share share) const {
    const Tile tile = tile_at(map, number);
    FindStep<T> step{reinterpret_cast<const T*>(tile.data) + tile.begin};
    walk_both<kWidthOf<T, T>>(step.data, step.data, tile.count, share, step);
    report(step, tile, share, found);
  }
};

/// Calls action.operator()<To, From>() for the types of `conversion`; returns false if they have no
/// arithmetic between them.
template <class Action>
bool with_types(const Conversion& conversion, Action action) {
  using enum ElementType;
  const auto is = [&conversion](ElementType to, ElementType from) {
    return conversion.to == to && conversion.from == from;
  };
  if (is(float32, float32)) return action.template operator()<float, float>(), true;
  if (is(float16, float32)) return action.template operator()<Float16, float>(), true;
  if (is(bfloat16, float32)) return action.template operator()<BFloat16, float>(), true;
  if (is(float32, float16)) return action.template operator()<float, Float16>(), true;
  if (is(float16, float16)) return action.template operator()<Float16, Float16>(), true;
  if (is(float32, bfloat16)) return action.template operator()<float, BFloat16>(), true;
  if (is(bfloat16, bfloat16)) return action.template operator()<BFloat16, BFloat16>(), true;
  if (is(float64, float64)) return action.template operator()<double, double>(), true;
  return false;
}

/// Calls action.operator()<Bits>() for the unsigned integer of the type's size.
template <class Action>
void with_bits(ElementType type, Action action) {
  switch (size_of(type)) {
    case 1:
      return action.template operator()<std::uint8_t>();
    case 2:
      return action.template operator()<std::uint16_t>();
    case 4:
      return action.template operator()<std::uint32_t>();
    default:
      return action.template operator()<std::uint64_t>();
  }
}

bool is_copy(const Conversion& conversion) {
  return conversion.from == conversion.to && conversion.scale == 1;
}

[[noreturn]] void throw_impossible(const Conversion& conversion) {
  throw Error(ErrorKind::usage, std::string(name_of(conversion.from)) + " times " +
                                    std::to_string(conversion.scale) + " cannot be converted to " +
                                    std::string(name_of(conversion.to)));
}

void pack_bits(std::span<std::byte> buffer, const TensorList& tensors, ElementType type,
               StreamHandle stream) {
  with_bits(type, [&]<class Bits>() {
    const PackBits<Bits> work{tensors.map(), reinterpret_cast<Bits*>(buffer.data())};
    launch(work.map.tiles, work, stream, "packing");
  });
}

/// Packs; returns false if the types have no arithmetic between them.
bool pack_scaled(std::span<std::byte> buffer, const TensorList& tensors,
                 const Conversion& conversion, std::uint64_t* found, StreamHandle stream) {
  return with_types(conversion, [&]<class To, class From>() {
    const Pack<To, From> work{tensors.map(), reinterpret_cast<To*>(buffer.data()),
                              static_cast<LaneOf<To>>(conversion.scale), found};
    launch(work.map.tiles, work, stream, "packing");
  });
}

}  // namespace

void pack(std::span<std::byte> buffer, const TensorList& tensors, const Conversion& conversion,
          StreamHandle stream) {
  assert(buffer.size() == packed_bytes(tensors, conversion.to));
  if (is_copy(conversion)) return pack_bits(buffer, tensors, conversion.to, stream);
  if (!pack_scaled(buffer, tensors, conversion, nullptr, stream)) throw_impossible(conversion);
}

void pack_checked(std::span<std::byte> buffer, const TensorList& tensors,
                  const Conversion& conversion, NonFiniteTable& found, StreamHandle stream) {
  assert(buffer.size() == packed_bytes(tensors, conversion.to));
  assert(found.fetched().size() == tensors.size());
  if (pack_scaled(buffer, tensors, conversion, found.device(), stream)) return;
  if (!is_copy(conversion)) throw_impossible(conversion);
  pack_bits(buffer, tensors, conversion.to, stream);
}

void unpack(const TensorList& tensors, std::span<const std::byte> buffer,
            const Conversion& conversion, StreamHandle stream) {
  assert(buffer.size() == packed_bytes(tensors, conversion.from));
  if (is_copy(conversion))
    return with_bits(conversion.to, [&]<class Bits>() {
      const UnpackBits<Bits> work{tensors.map(), reinterpret_cast<const Bits*>(buffer.data())};
      launch(work.map.tiles, work, stream, "unpacking");
    });
  const bool is_done = with_types(conversion, [&]<class To, class From>() {
    const Unpack<To, From> work{tensors.map(), reinterpret_cast<const From*>(buffer.data()),
                                static_cast<LaneOf<To>>(conversion.scale)};
    launch(work.map.tiles, work, stream, "unpacking");
  });
  if (!is_done) throw_impossible(conversion);
}

void unpack_and_add(const TensorList& tensors, std::span<const std::byte> buffer,
                    const Conversion& conversion, StreamHandle stream) {
  assert(buffer.size() == packed_bytes(tensors, conversion.from));
  const bool is_done = with_types(conversion, [&]<class To, class From>() {
    const UnpackAndAdd<To, From> work{tensors.map(), reinterpret_cast<const From*>(buffer.data()),
                                      static_cast<LaneOf<To>>(conversion.scale)};
    launch(work.map.tiles, work, stream, "adding what was packed");
  });
  if (!is_done) throw_impossible(conversion);
}

void first_non_finite(const TensorList& tensors, ElementType type, NonFiniteTable& found,
                      StreamHandle stream) {
  assert(found.fetched().size() == tensors.size());
  const Conversion unchanged{type, type};
  with_types(unchanged, [&]<class T, class>() {
    const Search<T> work{tensors.map(), found.device()};
    launch(work.map.tiles, work, stream, "searching for what is not finite");
  });
}

}  // namespace fastgpu::comm::gpu
