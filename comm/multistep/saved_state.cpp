#include "comm/multistep/saved_state.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/fusion/seal.hpp"
#include "comm/multistep/refusal.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint32_t kMultistepMagic = 0x66676d73;  ///< "fgms"
constexpr std::uint8_t kMultistepFormat = 4;

/// Appends numbers and texts to bytes that grow.
class StateWriter {
 public:
  template <class T>
  StateWriter& number(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    WireWriter(std::span(bytes_).subspan(at)).put(value);
    return *this;
  }
  StateWriter& number(double value) { return number(std::bit_cast<std::uint64_t>(value)); }
  StateWriter& blob(std::span<const std::byte> content) {
    number(std::uint64_t{content.size()});
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    return *this;
  }
  StateWriter& text(const std::string& content) { return blob(std::as_bytes(std::span(content))); }

  std::vector<std::byte> take_sealed() {
    bytes_.resize(bytes_.size() + kSealBytes);
    seal(bytes_);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class StateReader {
 public:
  explicit StateReader(std::span<const std::byte> bytes) : left_(bytes.size()), reader_(bytes) {}

  template <class T>
  T number() {
    take(sizeof(T));
    return reader_.get<T>();
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  /// Returns how many parts follow, each of at least `bytes`.
  std::size_t count(std::size_t bytes) {
    const auto count = number<std::uint64_t>();
    if (count > left_ / bytes) ended();
    return static_cast<std::size_t>(count);
  }
  std::vector<std::byte> blob() {
    const std::size_t size = count(1);
    take(size);
    const auto bytes = reader_.get_bytes(size);
    return {bytes.begin(), bytes.end()};
  }
  std::string text() {
    const std::vector<std::byte> bytes = blob();
    std::string content(bytes.size(), '\0');
    if (!bytes.empty()) std::memcpy(content.data(), bytes.data(), bytes.size());
    return content;
  }
  void expect_end() const {
    if (left_ > 0) throw Error(ErrorKind::usage, "a saved state of multistep training is too long");
  }

 private:
  [[noreturn]] static void ended() {
    throw Error(ErrorKind::usage, "a saved state of multistep training ends too early");
  }
  void take(std::size_t bytes) {
    if (bytes > left_) ended();
    left_ -= bytes;
  }

  std::size_t left_;
  WireReader reader_;
};

}  // namespace

std::vector<std::byte> encode(const SavedMultistep& state) {
  StateWriter out;
  out.number(kMultistepMagic).number(kMultistepFormat);
  out.number(static_cast<std::uint32_t>(state.rank.value));
  out.number(static_cast<std::uint32_t>(state.ranks)).text(state.mode);
  out.number(state.clock.round).number(state.clock.steps).number(state.clock.finished_rounds);
  out.number(state.clock.step_weight).number(std::uint64_t{state.clock.weights.size()});
  for (const double weight : state.clock.weights)
    out.number(weight);
  out.number(static_cast<std::uint8_t>(state.unused ? 1 : 0));
  if (state.unused)
    out.number(state.unused->round)
        .number(static_cast<std::uint8_t>(state.unused->has_results ? 1 : 0))
        .number(static_cast<std::uint8_t>(state.unused->is_over ? 1 : 0))
        .number(state.unused->factor);
  out.number(std::uint64_t{state.tensors.size()});
  for (const SavedTensor& tensor : state.tensors)
    out.text(tensor.name)
        .blob(tensor.values)
        .blob(tensor.work)
        .blob(tensor.anchor)
        .blob(tensor.momentum);
  out.number(std::uint64_t{state.codecs.size()});
  for (const auto& codec : state.codecs)
    out.blob(codec);
  return out.take_sealed();
}

SavedMultistep decode_multistep(std::span<const std::byte> bytes) {
  StateReader in(without_seal(bytes));
  if (in.number<std::uint32_t>() != kMultistepMagic)
    throw Error(ErrorKind::usage, "these bytes are no saved state of multistep training");
  const auto format = in.number<std::uint8_t>();
  if (format != kMultistepFormat)
    throw Error(ErrorKind::usage, "a saved state of multistep training has format " +
                                      std::to_string(format) + ": this library reads format " +
                                      std::to_string(kMultistepFormat));
  SavedMultistep state;
  state.rank = {static_cast<int>(in.number<std::uint32_t>())};
  state.ranks = static_cast<int>(in.number<std::uint32_t>());
  state.mode = in.text();
  state.clock.round = in.number<std::uint64_t>();
  state.clock.steps = in.number<std::uint32_t>();
  state.clock.finished_rounds = in.number<std::uint32_t>();
  state.clock.step_weight = in.real();
  state.clock.weights.resize(in.count(sizeof(double)));
  for (double& weight : state.clock.weights)
    weight = in.real();
  if (in.number<std::uint8_t>() != 0) {
    RoundVerdict& verdict = state.unused.emplace();
    verdict.round = in.number<std::uint64_t>();
    verdict.has_results = in.number<std::uint8_t>() != 0;
    verdict.is_over = in.number<std::uint8_t>() != 0;
    verdict.factor = in.real();
  }
  state.tensors.resize(in.count(kSavedTensorHead));
  for (SavedTensor& tensor : state.tensors)
    tensor = {in.text(), in.blob(), in.blob(), in.blob(), in.blob()};
  state.codecs.resize(in.count(kSavedCodecHead));
  for (auto& codec : state.codecs)
    codec = in.blob();
  in.expect_end();
  if (!has_seal(bytes))
    throw Error(ErrorKind::usage,
                "a saved state of multistep training is damaged: its numbers have changed");
  return state;
}

void check_state_of(const SavedMultistep& state, Rank rank, int ranks,
                    const MultistepSettings& mode) {
  if (state.rank != rank || state.ranks != ranks)
    throw multistep_refusal("this is the state of rank " + std::to_string(state.rank.value) +
                            " of " + std::to_string(state.ranks) + ", not of rank " +
                            std::to_string(rank.value) + " of " + std::to_string(ranks));
  if (state.mode != to_string(mode))
    throw multistep_refusal("this is a state of " + state.mode + ", not of " + to_string(mode));
}

}  // namespace fastgpu::comm
