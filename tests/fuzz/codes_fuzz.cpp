// What another rank may send as the code of a gradient, and what a file may hold as a saved state.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/gradients/codec_state.hpp"

namespace comm = fastgpu::comm;

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kElements = 9;

template <class Action>
bool tried(fastgpu::ErrorKind allowed, Action action) {
  try {
    action();
    return true;
  } catch (const fastgpu::Error& e) {
    if (e.kind() != allowed) __builtin_trap();
    return false;
  }
}

/// A code of as many numbers as fit the bytes best; missing ones are 0.
void decode(Bytes said) {
  constexpr comm::CodecChoice kChoices[] = {{comm::CodecId::int8},
                                            {comm::CodecId::one_bit},
                                            {comm::CodecId::top_k, 0.01},
                                            {comm::CodecId::top_k, 0.5}};
  if (said.size() < 4) return;
  const auto number = [said](std::size_t at) { return std::to_integer<std::size_t>(said[at]); };
  const auto codec = comm::make_codec(kChoices[number(0) % std::size(kChoices)]);
  const std::size_t count = (number(1) << 16 | number(2) << 8 | number(3)) % 140'000;
  std::vector<std::byte> code(codec->encoded_bytes(count));
  const Bytes rest = said.subspan(4);
  std::ranges::copy(rest.first(std::min(rest.size(), code.size())), code.begin());
  std::vector<float> sum(count);
  const bool is_added = tried(fastgpu::ErrorKind::remote, [&] { codec->add(sum, code, 1); });
  if (is_added != tried(fastgpu::ErrorKind::remote, [&] { codec->check(code, count); }))
    __builtin_trap();
}

void load(Bytes saved) {
  comm::GradientTable table;
  table.add({.name = "a", .shape = {kElements}});
  table.add({.name = "b", .shape = {kElements}});
  comm::CodecState state;
  state.resize(table.size());
  tried(fastgpu::ErrorKind::usage, [&] { state.load(saved, table, {0}, 1); });
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::vector<float> residuals(kElements);
    state.add_to({i}, 0, residuals);
    for (const float value : residuals)
      if (!std::isfinite(value)) __builtin_trap();
    for (const float value : state.factor_of({i}))
      if (!std::isfinite(value)) __builtin_trap();
    state.replace({{i}, 2, 5, 0}, 3, std::span(residuals).first(2));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto said = std::as_bytes(std::span(data, size));
  decode(said);
  load(said);
  return 0;
}
