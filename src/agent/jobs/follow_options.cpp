#include "agent/jobs/follow_options.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "agent/protocol/frame.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kMostOffsets = 16UL << 20U;

std::set<int> parse_ranks(const std::string& text) {
  std::set<int> ranks;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    const auto rank = parse_number<int>(text.substr(begin, end - begin), "--ranks");
    if (rank < kLauncherRank || rank > kLargestRank)
      throw Error(ErrorKind::usage, "--ranks: " + std::to_string(rank) + " is not a rank");
    ranks.insert(rank);
  }
  return ranks;
}

std::chrono::milliseconds parse_since(const std::string& text) {
  const std::chrono::milliseconds since(parse_number<std::int64_t>(text, "--since"));
  if (since.count() < 0)
    throw Error(ErrorKind::usage, "--since " + std::to_string(since.count()) + " is negative");
  return since;
}

void add_offset(LogFollowOptions& options, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw Error(ErrorKind::usage, "--from '" + printable(text) + "' is not NAME=OFFSET");
  options.from[text.substr(0, equals)] =
      parse_number<std::uint64_t>(text.substr(equals + 1), "--from");
}

/// Reads offsets from standard input: "NAME=OFFSET" followed by NUL for each, and an empty one at
/// the end. The input stays open after them.
void read_offsets(LogFollowOptions& options) {
  std::string entry;
  for (std::size_t bytes = 0;; ++bytes) {
    char c = 0;
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || bytes > kMostOffsets)
      throw Error(ErrorKind::usage, "--from-input: the list has no end");
    if (c != '\0') {
      entry += c;
      continue;
    }
    if (entry.empty()) return;
    add_offset(options, std::exchange(entry, ""));
  }
}

}  // namespace

LogFollowOptions parse_follow_options(Arguments arguments) {
  OptionReader words(arguments);
  LogFollowOptions options{.directory = below_home(words.take_word("the job's directory"))};
  while (!words.done()) {
    if (const auto text = words.take_value("--from")) {
      add_offset(options, *text);
    } else if (const auto list = words.take_value("--ranks")) {
      options.ranks = parse_ranks(*list);
    } else if (const auto lines = words.take_value("--tail")) {
      options.tail = Tail{parse_number<std::uint64_t>(*lines, "--tail")};
    } else if (const auto lines_of_log = words.take_value("--tail-of-log")) {
      options.tail = Tail{parse_number<std::uint64_t>(*lines_of_log, "--tail-of-log"), TailOf::log};
    } else if (const auto since = words.take_value("--since")) {
      options.since = parse_since(*since);
    } else if (const auto beats = words.take_value("--beats")) {
      options.beats = std::chrono::milliseconds(parse_number<std::uint32_t>(*beats, "--beats"));
    } else if (words.take_flag("--times")) {
      options.times = true;
    } else if (words.take_flag("--from-input")) {
      read_offsets(options);
    } else if (words.take_flag("--no-follow")) {
      options.follow = false;
    } else if (words.take_flag("--no-data")) {
      options.data = false;
    } else if (words.take_flag("--renew-lease")) {
      options.renew_lease = true;
    } else if (words.take_flag("--begun")) {
      options.needs_begin = true;
    } else {
      words.expect_end();
    }
  }
  return options;
}

}  // namespace fastgpu::agent
