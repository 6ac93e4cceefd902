#include "comm/engine/call_book.hpp"

namespace fastgpu::comm {
namespace {

/// A rank that is ahead by more is not remembered in every detail.
constexpr std::size_t kMostEarly = 65536;

}  // namespace

/// How many calls ago that was, where there are `next` by now; more than half of all for one that
/// is still to come.
std::uint64_t CallBook::age(std::uint64_t number, std::uint64_t next) noexcept {
  return (next - 1 - number) % kSequences;
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
  if (early_.size() > 0) check_early(number, note);
}

/// Holds the call against what ranks that are ahead have called.
void CallBook::check_early(std::uint64_t number, const Note& note) {
  if (early_.find(number) == nullptr) return;
  const Early early = early_.take(number);
  check_same({self_, note}, {early.first.from, early.first.note});
  if (early.different) check_same({self_, note}, {early.different->from, early.different->note});
}

void CallBook::keep_early(std::uint64_t number, const Report& report) {
  if (Early* const known = early_.find(number)) {
    if (report.note != known->first.note) known->different = report;
  } else if (early_.size() < kMostEarly) {
    early_.add(number, {.first = report});
  }
}

void CallBook::on_note(std::uint64_t number, Rank from, const Note& note) {
  const Chapter& chapter = chapter_of(number);
  if (age(number, chapter.next) >= kSequences / 2) {
    keep_early(number, {from, note});
    return;
  }
  if (chapter.recent.empty()) return;
  const Known& known = chapter.recent[number % kRecent];
  if (known.number == number) check_same({self_, known.note}, {from, note});
}

}  // namespace fastgpu::comm
