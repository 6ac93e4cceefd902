#include "comm/engine/call_book.hpp"

namespace fastgpu::comm {
namespace {

/// A rank that is ahead by more is not remembered in every detail.
constexpr std::size_t kMostEarly = 65536;

}  // namespace

void CallBook::begin(std::uint64_t number, const Call& call) {
  place_of(number) = {number, call};
  if (early_.empty()) return;
  std::vector<Early> due;
  std::erase_if(early_, [&](const Early& early) {
    if (early.number != number) return false;
    due.push_back(early);
    return true;
  });
  for (const Early& early : due)
    check_same({self_, call}, {early.from, early.note});
}

void CallBook::heard(std::uint64_t number, Rank from, const Note& note) {
  const Known& known = place_of(number);
  if (known.number == number) return check_same({self_, known.call}, {from, note});
  if (early_.size() < kMostEarly) early_.push_back({number, from, note});
}

}  // namespace fastgpu::comm
