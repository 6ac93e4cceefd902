#include "comm/multistep/outer_step.hpp"

#include <algorithm>
#include <numeric>

namespace fastgpu::comm {
namespace {

template <class T>
std::span<T> elements_in(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
void outer_step_of(std::span<std::byte> anchor, std::span<std::byte> momentum,
                   std::span<const std::byte> difference, const OuterRate& rate) {
  const std::span<T> at = elements_in<T>(anchor);
  const std::span<T> velocity = elements_in<T>(momentum);
  const auto* const moved = reinterpret_cast<const T*>(difference.data());
  const auto learning = static_cast<T>(rate.rate);
  const auto keep = static_cast<T>(rate.momentum);
  if (keep == T{0}) {
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] -= learning * moved[i];
    return;
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    velocity[i] = keep * velocity[i] + moved[i];
    at[i] -= learning * (moved[i] + keep * velocity[i]);
  }
}

}  // namespace

void outer_step(std::span<std::byte> anchor, std::span<std::byte> momentum,
                std::span<const std::byte> difference, ElementType type, const OuterRate& rate) {
  if (type == ElementType::float64)
    outer_step_of<double>(anchor, momentum, difference, rate);
  else
    outer_step_of<float>(anchor, momentum, difference, rate);
}

std::vector<std::uint32_t> slices_of_tensors(std::span<const std::size_t> bytes,
                                             std::uint32_t slices) {
  const auto total =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}));
  std::vector<std::uint32_t> of;
  double before = 0;
  for (const std::size_t size : bytes) {
    const double middle = before + static_cast<double>(size) / 2;
    const double place = total > 0 ? middle / total * slices : 0;
    of.push_back(std::min(static_cast<std::uint32_t>(place), slices - 1));
    before += static_cast<double>(size);
  }
  return of;
}

}  // namespace fastgpu::comm
