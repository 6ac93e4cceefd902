#include "comm/entry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/wire.hpp"

namespace fastgpu::comm {
namespace {

/// FNV-1a. It tells differing registrations apart; nobody here is an adversary.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      hash_ = (hash_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace

GradientEntry::GradientEntry(Communicator& communicator, Bytes bucket)
    : communicator_(communicator), bucket_bytes_(bucket.count) {}

GradientId GradientEntry::add(std::string name, ElementType type, std::span<std::byte> values) {
  if (is_prepared_)
    throw Error(ErrorKind::usage, "gradient '" + printable(name) +
                                      "': register it before the first all_reduce_gradients");
  if (std::ranges::any_of(gradients_, [&](const Gradient& known) { return known.name == name; }))
    throw Error(ErrorKind::usage, "gradient '" + printable(name) + "' is registered already");
  if (values.size() % size_of(type) != 0)
    throw Error(ErrorKind::usage,
                "gradient '" + printable(name) + "': " + std::to_string(values.size()) +
                    " bytes are no whole number of " + std::string(name_of(type)));
  gradients_.push_back({std::move(name), type, values});
  return {gradients_.size() - 1};
}

void GradientEntry::all_reduce_gradients(ReduceOp op) {
  if (!is_prepared_) prepare();
  for (const Bucket& bucket : plan_)
    reduce(bucket, op);
}

std::size_t GradientEntry::buckets() const {
  return plan().size();
}

std::vector<GradientEntry::Bucket> GradientEntry::plan() const {
  std::vector<Bucket> buckets;
  std::size_t first = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const bool fits = bytes + gradients_[i].values.size() <= bucket_bytes_ &&
                      gradients_[i].type == gradients_[first].type;
    if (i > first && !fits) {
      buckets.push_back(Bucket(gradients_).subspan(first, i - first));
      first = i;
      bytes = 0;
    }
    bytes += gradients_[i].values.size();
  }
  if (first < gradients_.size()) buckets.push_back(Bucket(gradients_).subspan(first));
  return buckets;
}

void GradientEntry::prepare() {
  check_same_on_all_ranks();
  plan_ = plan();
  std::size_t largest = 0;
  for (const Bucket& bucket : plan_) {
    std::size_t bytes = 0;
    for (const Gradient& gradient : bucket)
      bytes += gradient.values.size();
    if (bucket.size() > 1) largest = std::max(largest, bytes);
  }
  fused_ = std::make_unique<std::byte[]>(largest);
  is_prepared_ = true;
}

void GradientEntry::check_same_on_all_ranks() {
  Fingerprint mine;
  for (const Gradient& gradient : gradients_) {
    std::array<std::byte, 17> shape{};
    WireWriter(shape)
        .put(static_cast<std::uint64_t>(gradient.name.size()))
        .put(static_cast<std::uint8_t>(gradient.type))
        .put(static_cast<std::uint64_t>(gradient.values.size()));
    mine.add(shape);
    mine.add(std::as_bytes(std::span(gradient.name)));
  }
  std::vector<std::uint64_t> all(static_cast<std::size_t>(communicator_.size()));
  const std::uint64_t value = mine.value();
  communicator_.all_gather(std::as_bytes(std::span(&value, 1)),
                           std::as_writable_bytes(std::span(all)));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw Error(ErrorKind::usage, "rank " + std::to_string(rank) +
                                        " has registered other gradients than rank 0 (names, "
                                        "types, lengths or order differ)");
}

void GradientEntry::reduce(Bucket bucket, ReduceOp op) {
  const Reduction reduction{bucket.front().type, op};
  if (bucket.size() == 1) return communicator_.all_reduce(bucket.front().values, reduction);
  std::byte* end = fused_.get();
  for (const Gradient& gradient : bucket)
    end = std::ranges::copy(gradient.values, end).out;
  communicator_.all_reduce({fused_.get(), end}, reduction);
  const std::byte* next = fused_.get();
  for (const Gradient& gradient : bucket) {
    std::copy_n(next, gradient.values.size(), gradient.values.begin());
    next += gradient.values.size();
  }
}

}  // namespace fastgpu::comm
