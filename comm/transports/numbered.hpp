// Values by small numbers that another rank gives back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace fastgpu::comm {

template <class T>
class Numbered {
 public:
  std::uint32_t add(T value) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(values_.size()));
      values_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    values_[number] = std::move(value);
    return number;
  }
  T* find(std::uint32_t number) {
    const bool is_known = number < values_.size() && values_[number];
    return is_known ? &*values_[number] : nullptr;
  }
  void remove(std::uint32_t number) {
    values_[number].reset();
    free_.push_back(number);
  }
  std::size_t size() const noexcept { return values_.size() - free_.size(); }

 private:
  std::vector<std::optional<T>> values_;
  std::vector<std::uint32_t> free_;
};

}  // namespace fastgpu::comm
