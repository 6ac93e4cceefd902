#include "agent/protocol/lease.hpp"

#include "agent/protocol/records.hpp"

namespace fastgpu::agent {
namespace {

void add(Records& records, const LeaseBook& book) {
  records.add("owner", book.owner);
  records.add("taken", book.taken);
  records.add("holder", book.holder);
  records.add("who", book.who);
  records.add("until", book.until);
}

LeaseBook book_in(const Records& records) {
  return {.owner = records.get("owner"),
          .taken = records.get("taken"),
          .holder = records.get("holder"),
          .who = records.get("who"),
          .until = records.number("until")};
}

}  // namespace

LeaseAnswer decide_lease(LeaseBook book, const LeaseWish& wish, std::int64_t now) {
  const bool is_anothers = !book.owner.empty() && book.owner != wish.holder && !wish.takes_over;
  const bool is_running =
      !book.holder.empty() && book.until > now && book.until - now <= kLongestLease.count();
  const bool is_granted = !is_anothers && (!is_running || book.holder == wish.holder);
  if (is_granted) {
    book.holder = wish.holder;
    book.who = wish.who;
    book.until = now + wish.duration.count();
  }
  return {.is_granted = is_granted, .book = std::move(book), .now = now};
}

std::string to_text(const LeaseBook& book) {
  Records records;
  add(records, book);
  return records.text();
}

LeaseBook parse_lease_book(std::string_view text) {
  return book_in(Records(text, "lease"));
}

std::string to_text(const LeaseAnswer& answer) {
  Records records;
  records.add("granted", answer.is_granted ? 1 : 0);
  records.add("now", answer.now);
  add(records, answer.book);
  return records.text();
}

LeaseAnswer parse_lease_answer(std::string_view text) {
  const Records records(text, "lease");
  return {.is_granted = records.number("granted") != 0,
          .book = book_in(records),
          .now = records.number("now")};
}

}  // namespace fastgpu::agent
