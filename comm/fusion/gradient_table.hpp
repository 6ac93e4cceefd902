// The gradients of a model: registered once, and the same on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/strong.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// Numbered in order of registration.
using GradientId = Strong<struct GradientIdTag, std::size_t>;

struct GradientInfo {
  std::string name;
  ElementType type = ElementType::float32;
  std::vector<std::uint64_t> shape{};  ///< Empty: one element.
  std::int32_t priority = 0;           ///< Higher overtakes on the wire.

  friend bool operator==(const GradientInfo&, const GradientInfo&) = default;
};

/// Returns the number of elements. Throws ErrorKind::usage for more than memory can have.
std::size_t elements_of(const GradientInfo& info);

class GradientTable {
 public:
  /// Adds a gradient. Throws ErrorKind::usage for a name that is registered already or longer than
  /// 65535 bytes. Throws it also for more than 255 dimensions, and for more elements than memory
  /// can have.
  GradientId add(GradientInfo info);

  std::size_t size() const noexcept { return gradients_.size(); }
  const GradientInfo& operator[](GradientId id) const { return gradients_[id.value]; }
  std::size_t elements(GradientId id) const { return elements_[id.value]; }
  std::size_t bytes(GradientId id) const { return elements(id) * size_of((*this)[id].type); }

  /// Returns the gradient of that name, if there is one.
  std::optional<GradientId> find(const std::string& name) const;

  /// Returns a hash of order, names, types, shapes and priorities.
  std::uint64_t hash() const;

 private:
  std::vector<GradientInfo> gradients_;
  std::vector<std::size_t> elements_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// Encodes the table for another rank.
std::vector<std::byte> encode(const GradientTable& table);

/// Decodes a table. Throws ErrorKind::remote for anything else.
GradientTable decode_table(std::span<const std::byte> message);

/// Returns the first difference of `theirs` from `mine`, in words of one sentence; absent without
/// one.
std::optional<std::string> first_difference(const GradientTable& mine, const GradientTable& theirs);

/// Returns "float32 [64, 3, 7, 7] 'conv1.weight'".
std::string describe(const GradientInfo& info);

}  // namespace fastgpu::comm
