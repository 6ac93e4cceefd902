// The records that nodes and fastgpu send each other: about environments, guards and jobs. What is
// read is written and read again as the same.
#include <cstdint>
#include <string_view>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/facts.hpp"
#include "agent/protocol/guard.hpp"
#include "agent/protocol/lease.hpp"
#include "agent/protocol/manifest_line.hpp"
#include "attempt.hpp"

namespace agent = fastgpu::agent;
using fastgpu::ErrorKind;
using fastgpu::fuzz::attempt;

namespace {

std::string text_of(const agent::Records& records) {
  return records.text();
}
std::string text_of(const std::string& text) {
  return text;
}

/// What has been read once is written in one way alone.
template <class Read, class Write>
void check_same(std::string_view text, Read read, Write write) {
  attempt<ErrorKind::remote>([&] {
    const std::string once = text_of(write(read(text)));
    if (text_of(write(read(once))) != once) __builtin_trap();
  });
}

template <class Parse>
auto from_records(Parse parse) {
  return [parse](std::string_view text) { return parse(agent::Records(text, "an answer")); };
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto records = [](const auto& value) { return agent::to_records(value); };
  const auto words = [](const auto& value) { return agent::to_text(value); };
  check_same(text, from_records(agent::parse_environment_status), words);
  check_same(text, from_records(agent::parse_solve_request), records);
  check_same(text, from_records(agent::parse_solve_answer), records);
  check_same(text, from_records(agent::parse_build_request), records);
  check_same(text, from_records(agent::parse_build_answer), records);
  check_same(text, from_records(agent::parse_verify_answer), records);
  check_same(text, agent::parse_guard_order, words);
  check_same(text, agent::parse_node_watch, words);
  attempt<ErrorKind::remote>([&] { agent::parse_node_facts(text); });
  attempt<ErrorKind::remote>([&] { agent::parse_lease_book(text); });
  attempt<ErrorKind::remote>([&] { agent::parse_lease_answer(text); });
  const std::string line(text);
  attempt<ErrorKind::remote>([&] { agent::sum_in(line); });
  attempt<ErrorKind::remote>([&] { agent::path_in(line); });
  attempt<ErrorKind::remote>([&] { agent::size_in(line); });
  return 0;
}
