// A small hash table from numbers, or keys that have one, to values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fastgpu::comm {

/// Returns the number of a key that is one.
constexpr std::uint64_t number_itself(std::uint64_t key) noexcept {
  return key;
}

/// A table with open addressing, so that adding and taking a value costs no allocation. Values
/// move. Keys are the same here if their numbers are.
template <class T, class Key = std::uint64_t,
          std::uint64_t (*to_number)(Key) noexcept = number_itself>
class NumberTable {
 public:
  std::size_t size() const noexcept { return used_; }

  /// Returns the value of `key`, or null. Valid until the table changes.
  T* find(Key key) noexcept {
    Entry* const entry = entry_of(key);
    return entry == nullptr ? nullptr : &entry->value;
  }

  /// Returns the key with which the value of `key`, which is in the table, was added.
  Key key_of(Key key) noexcept { return entry_of(key)->key; }

  /// Adds `key`, which is not in the table yet.
  T& add(Key key, T value) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    std::size_t at = home(key);
    while (entries_[at].is_used)
      at = next(at);
    entries_[at] = {key, true, std::move(value)};
    ++used_;
    return entries_[at].value;
  }

  /// Takes `key`, which is in the table.
  T take(Key key) {
    std::size_t hole = home(key);
    while (to_number(entries_[hole].key) != to_number(key) || !entries_[hole].is_used)
      hole = next(hole);
    T value = std::move(entries_[hole].value);
    close(hole);
    return value;
  }

  /// Calls `use` with each value.
  template <class Use>
  void for_each(Use use) const {
    for (const Entry& entry : entries_)
      if (entry.is_used) use(entry.value);
  }

  void clear() {
    entries_.clear();
    used_ = 0;
  }

 private:
  struct Entry {
    Key key{};
    bool is_used = false;
    T value{};
  };

  Entry* entry_of(Key key) noexcept {
    if (used_ == 0) return nullptr;
    for (std::size_t at = home(key);; at = next(at)) {
      Entry& entry = entries_[at];
      if (!entry.is_used) return nullptr;
      if (to_number(entry.key) == to_number(key)) return &entry;
    }
  }

  std::size_t home(Key key) const noexcept {
    return static_cast<std::size_t>((to_number(key) * 0x9e3779b97f4a7c15U) >> 20) &
           (entries_.size() - 1);
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (entries_.size() - 1); }

  /// Moves later entries up, so that no search stops at the hole before it has found them.
  void close(std::size_t hole) {
    entries_[hole] = Entry{};
    --used_;
    for (std::size_t at = next(hole); entries_[at].is_used; at = next(at)) {
      const std::size_t wanted = home(entries_[at].key);
      const bool reaches_hole =
          hole <= at ? wanted <= hole || wanted > at : wanted <= hole && wanted > at;
      if (!reaches_hole) continue;
      entries_[hole] = std::exchange(entries_[at], Entry{});
      hole = at;
    }
  }

  void grow() {
    std::vector<Entry> old =
        std::exchange(entries_, std::vector<Entry>(entries_.empty() ? 16 : 2 * entries_.size()));
    used_ = 0;
    for (Entry& entry : old)
      if (entry.is_used) add(entry.key, std::move(entry.value));
  }

  std::vector<Entry> entries_;  ///< A power of two, at most half of it used.
  std::size_t used_ = 0;
};

}  // namespace fastgpu::comm
