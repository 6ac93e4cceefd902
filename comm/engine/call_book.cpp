#include "comm/engine/call_book.hpp"

namespace fastgpu::comm {
namespace {

/// Calls of a communicator that may be under way at once and are looked at.
constexpr std::size_t kRecent = 1024;

/// A rank that is ahead by more is not remembered in every detail.
constexpr std::size_t kMostEarly = 65536;

constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;

/// How many calls ago that was, where there are `next` by now; more than half of all for one that
/// is still to come.
std::uint64_t age(std::uint64_t number, std::uint64_t next) {
  return (next - 1 - number) % kSequences;
}

}  // namespace

CallBook::Chapter& CallBook::chapter_of(std::uint64_t number) {
  const std::uint64_t communicator = number / kSequences;
  if (communicator >= chapters_.size()) chapters_.resize(communicator + 1);
  return chapters_[communicator];
}

void CallBook::open(std::uint64_t number) {
  Chapter& chapter = chapter_of(number);
  chapter.next = number;
  chapter.recent.clear();
}

void CallBook::begin(std::uint64_t number, const Note& note) {
  Chapter& chapter = chapter_of(number);
  if (chapter.recent.empty()) chapter.recent.resize(kRecent);
  chapter.recent[number % kRecent] = {number, note};
  chapter.next = number + 1;
  if (early_.empty()) return;
  std::vector<Early> due;
  std::erase_if(early_, [&](const Early& early) {
    if (early.number != number) return false;
    due.push_back(early);
    return true;
  });
  for (const Early& early : due)
    check_same({self_, note}, {early.from, early.note});
}

void CallBook::on_note(std::uint64_t number, Rank from, const Note& note) {
  const Chapter& chapter = chapter_of(number);
  if (age(number, chapter.next) >= kSequences / 2) {
    if (early_.size() < kMostEarly) early_.push_back({number, from, note});
    return;
  }
  if (chapter.recent.empty()) return;
  const Known& known = chapter.recent[number % kRecent];
  if (known.number == number) check_same({self_, known.note}, {from, note});
}

}  // namespace fastgpu::comm
