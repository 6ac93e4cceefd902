// A small hash table from message tags to data about the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "comm/transports/message_type.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Returns the whole tag: the key of a table of numbers that are no messages' tags.
constexpr MessageTag whole_tag(MessageTag tag) noexcept {
  return tag;
}

/// A table with open addressing, so that adding and taking a message costs no allocation. Values
/// move. Tags are the same here if their keys are: the type in them does not count.
template <class T, MessageTag (*key)(MessageTag) noexcept = without_type>
class TagTable {
 public:
  std::size_t size() const noexcept { return used_; }

  /// Returns the value of `tag`, or null. Valid until the table changes.
  T* find(MessageTag tag) noexcept {
    Entry* const entry = entry_of(tag);
    return entry == nullptr ? nullptr : &entry->value;
  }

  /// Returns the tag with which the value of `tag`, which is in the table, was added.
  MessageTag tag_of(MessageTag tag) noexcept { return entry_of(tag)->tag; }

  /// Adds `tag`, which is not in the table yet.
  T& add(MessageTag tag, T value) {
    if (2 * (used_ + 1) > entries_.size()) grow();
    std::size_t at = home(tag);
    while (entries_[at].is_used)
      at = next(at);
    entries_[at] = {tag, true, std::move(value)};
    ++used_;
    return entries_[at].value;
  }

  /// Takes `tag`, which is in the table.
  T take(MessageTag tag) {
    std::size_t hole = home(tag);
    while (key(entries_[hole].tag) != key(tag) || !entries_[hole].is_used)
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
    MessageTag tag{};
    bool is_used = false;
    T value{};
  };

  Entry* entry_of(MessageTag tag) noexcept {
    if (used_ == 0) return nullptr;
    for (std::size_t at = home(tag);; at = next(at)) {
      Entry& entry = entries_[at];
      if (!entry.is_used) return nullptr;
      if (key(entry.tag) == key(tag)) return &entry;
    }
  }

  std::size_t home(MessageTag tag) const noexcept {
    return static_cast<std::size_t>((key(tag).value * 0x9e3779b97f4a7c15U) >> 20) &
           (entries_.size() - 1);
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (entries_.size() - 1); }

  /// Moves later entries up, so that no search stops at the hole before it has found them.
  void close(std::size_t hole) {
    entries_[hole] = Entry{};
    --used_;
    for (std::size_t at = next(hole); entries_[at].is_used; at = next(at)) {
      const std::size_t wanted = home(entries_[at].tag);
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
      if (entry.is_used) add(entry.tag, std::move(entry.value));
  }

  std::vector<Entry> entries_;  ///< A power of two, at most half of it used.
  std::size_t used_ = 0;
};

}  // namespace fastgpu::comm
