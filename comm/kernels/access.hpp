// Arrays taken a vector at a time, for the kernels of loops.hpp.
#pragma once

#include <cstddef>

namespace fastgpu::comm::loops {

/// Access to whole vectors.
template <class Machine>
struct Whole {
  template <class T>
  auto load(const T* from) const noexcept {
    return Machine::load(from);
  }
  template <class T, class Vector>
  void store(T* to, Vector value) const noexcept {
    Machine::store(to, value);
  }
};

/// Access to the last elements of an array, fewer than a vector has; the other lanes are zero.
template <class Machine>
struct Rest {
  std::size_t count;

  template <class T>
  auto load(const T* from) const noexcept {
    T padded[Machine::template kLanes<T>] = {};
    __builtin_memcpy(padded, from, count * sizeof(T));
    return Machine::load(padded);
  }
  template <class T, class Vector>
  void store(T* to, Vector value) const noexcept {
    T padded[Machine::template kLanes<T>];
    Machine::store(padded, value);
    __builtin_memcpy(to, padded, count * sizeof(T));
  }
};

/// Calls body(index, access) for all of [0, count), a vector at a time.
template <class Machine, std::size_t kLanes, class Body>
void for_each_vector(std::size_t count, Body body) noexcept {
  std::size_t at = 0;
  for (; count - at >= kLanes; at += kLanes)
    body(at, Whole<Machine>{});
  if constexpr (kLanes > 1)
    if (at < count) body(at, Rest<Machine>{count - at});
}

}  // namespace fastgpu::comm::loops
