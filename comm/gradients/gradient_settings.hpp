// The users' settings of the exchange of gradients, and their environment variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/gpu/device_settings.hpp"

namespace fastgpu::comm {

/// The type of float32 gradients on the wire. Others keep their type.
enum class WireType : std::uint8_t {
  same,
  float16,
  bfloat16,
  mixed,   ///< float16, summed in float32; float32 for small ones, and for `keep_float32`.
  encoded  ///< Encoded by `codec`, those of 16 bits too; small ones and `keep_float32` are not.
};

/// The reaction to NaN or infinity in a gradient. All but `off` look for it while packing.
enum class NonFiniteAction : std::uint8_t {
  off,
  warn,
  skip,  ///< No rank gets the results of that step.
  stop   ///< The step fails on every rank.
};

/// The meaning of the exchanged numbers, for messages.
enum class GradientContent : std::uint8_t {
  gradients,
  moves  ///< How far parameters have moved in a round of steps.
};

/// The bucket of int8 and 1bit. Nothing is on the network while the first bucket is encoded and the
/// last one is decoded: 64 MiB over 1 Gbit/s took 5 % less time than with buckets of 4 MiB.
constexpr Bytes kBucketOfShortCodes{2 << 20};

struct GradientSettings {
  Bytes bucket{4 << 20};           ///< FASTGPU_COMM_FUSION; PERSEUS_ALLREDUCE_FUSION in MiB.
  WireType wire = WireType::same;  ///< FASTGPU_COMM_WIRE: same, fp16, bf16, mixed or a codec.
  CodecChoice codec{};             ///< The codec of WireType::encoded.
  Bytes small{16 << 10};           ///< FASTGPU_COMM_MIXED_SMALL: smaller ones keep their type.
  std::vector<std::string> keep_float32{};            ///< FASTGPU_COMM_MIXED_KEEP: "*bn*,*.bias".
  NonFiniteAction non_finite = NonFiniteAction::off;  ///< FASTGPU_COMM_NANCHECK.
  int streams = 2;        ///< FASTGPU_COMM_LANES: buckets that need not wait for others.
  bool is_tuned = false;  ///< FASTGPU_COMM_TUNE: 0 or 1.
  /// FASTGPU_COMM_STALL: the late rank is named after this time.
  std::chrono::milliseconds stall{10'000};
  GradientContent content = GradientContent::gradients;
  std::string timeline{};  ///< FASTGPU_COMM_TIMELINE: a folder for one file a rank; empty: none.
  std::string counters{};  ///< FASTGPU_COMM_COUNTERS: as above.
  std::string cache{};     ///< Folder of tuned results, from XDG_CACHE_HOME or HOME; empty: none.
  gpu::DeviceSettings device{};  ///< FASTGPU_COMM_DEVICE and FASTGPU_COMM_NCCL.

  friend bool operator==(const GradientSettings&, const GradientSettings&) = default;
};

constexpr int kMostStreams = 16;

/// Reads the variables. Also reads PERSEUS_ALLREDUCE_NANCHECK (0, 1), _DTYPE (0 fp16, 1 off, 2
/// mixed), _STREAMS (streams), _DISABLE_STREAM_TUNING and _FUSION if our own variable is absent.
/// _MODE, which picked one of two algorithms between hosts, is checked and otherwise has no effect.
/// Throws ErrorKind::usage, naming the variable, for an invalid value.
GradientSettings gradient_settings(const Environment& environment);

/// Reads FASTGPU_COMM_TIMELINE and FASTGPU_COMM_COUNTERS alone. Throws ErrorKind::usage if they are
/// one folder.
GradientSettings record_settings(const Environment& environment);

/// Returns true for a name that bindings give to numbers of their own, which must stay exact.
bool is_own_name(std::string_view name) noexcept;

/// Returns the type of every gradient on the wire, by id; float32 for those to be encoded, and for
/// those with momentum.
std::vector<ElementType> wire_types(const GradientTable& table, const GradientSettings& settings);

/// Returns the gradients to be encoded, by id.
std::vector<bool> encoded_gradients(const GradientTable& table, const GradientSettings& settings);

/// Returns the gradients to which the momentum of the codec is applied, by id: the floating-point
/// ones, whether they are encoded or not, but for float64 and the bindings' own.
std::vector<bool> moved_gradients(const GradientTable& table, const GradientSettings& settings);

/// Returns the value of FASTGPU_COMM_WIRE that is read to these settings: "same", "topk:0.01".
std::string text_of_wire(const GradientSettings& settings);

/// Returns a number that differs for each value of FASTGPU_COMM_WIRE.
std::uint64_t number_of_wire(const GradientSettings& settings);

/// Returns a warning if a pattern of FASTGPU_COMM_MIXED_KEEP has brackets or a backslash and
/// matches no gradient, so that it is perhaps a pattern of a shell. Names may have brackets: those
/// of JAX do.
std::optional<std::string> doubt_of_patterns(const GradientTable& table,
                                             const GradientSettings& settings);

/// Returns true if `name` matches `pattern`, in which '*' means any text and '?' one character.
bool matches(std::string_view pattern, std::string_view name) noexcept;

}  // namespace fastgpu::comm
