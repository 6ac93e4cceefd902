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
  records.add("since", book.since);
}

LeaseBook book_in(const Records& records) {
  const bool has_since = !records.all("since").empty();  // Old records lack this field.
  return {.owner = records.get("owner"),
          .taken = records.get("taken"),
          .holder = records.get("holder"),
          .who = records.get("who"),
          .until = records.number("until"),
          .since = has_since ? records.number("since") : 0};
}

}  // namespace

LeaseAnswer decide_lease(LeaseBook book, const LeaseRequest& request, std::int64_t now) {
  const bool is_anothers =
      !book.owner.empty() && book.owner != request.holder && !request.takes_over;
  const bool is_running =
      !book.holder.empty() && book.until > now && book.until - now <= kLongestLease.count();
  const bool is_in_the_way = is_running && book.holder != request.holder;
  LeaseAnswer answer{.is_granted = !is_anothers && (!is_in_the_way || request.breaks), .now = now};
  if (answer.is_granted) {
    if (is_in_the_way) answer.broken = book.who;
    if (is_in_the_way) answer.broken_since = book.since;
    if (!is_running || is_in_the_way) book.since = now;
    book.holder = request.holder;
    book.who = request.who;
    book.until = now + request.duration.count();
  }
  answer.book = std::move(book);
  return answer;
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
  records.add("broken", answer.broken);
  records.add("broken_since", answer.broken_since);
  add(records, answer.book);
  return records.text();
}

LeaseAnswer parse_lease_answer(std::string_view text) {
  const Records records(text, "lease");
  return {.is_granted = records.number("granted") != 0,
          .book = book_in(records),
          .now = records.number("now"),
          .broken = records.get("broken"),
          .broken_since = records.number("broken_since")};
}

}  // namespace fastgpu::agent
