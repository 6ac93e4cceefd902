#include "config/host_file.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::config {
namespace {

constexpr std::size_t kMostHosts = 10'000;
constexpr std::size_t kLongestWord = 253;
constexpr int kMostSlots = 1'024;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestWord && text.front() != '-' &&
         std::ranges::all_of(text, is_name_character);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    if (begin < end) words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return words;
}

class HostFile {
 public:
  explicit HostFile(const std::string& source) : source_(source) {}

  void take(std::string_view line) {
    ++line_;
    const auto words = words_of(line);
    if (words.empty()) return;
    HostEntry host = host_in(words.front());
    for (std::size_t i = 1; i < words.size(); ++i)
      take_field(words[i], host);
    add(std::move(host));
  }

  std::vector<HostEntry> hosts() && {
    if (hosts_.empty()) throw Error(ErrorKind::usage, source_ + " lists no host");
    return std::move(hosts_);
  }

 private:
  [[noreturn]] void refuse(std::string_view word, const std::string& why) const {
    throw Error(ErrorKind::usage,
                source_ + ":" + std::to_string(line_) + ": '" + printable(word) + "' " + why);
  }

  int slots_in(std::string_view digits, std::string_view word) const {
    int slots = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, slots);
    if (error != std::errc{} || stop != end || slots < 1 || slots > kMostSlots)
      refuse(word, "has no number of slots from 1 to " + std::to_string(kMostSlots));
    return slots;
  }

  /// "n1", "n1:4", "user@n1"
  HostEntry host_in(std::string_view word) const {
    HostEntry host{.address = {}, .where = source_ + ":" + std::to_string(line_)};
    std::string_view rest = word;
    if (const std::size_t at = rest.find('@'); at != rest.npos) {
      host.user = rest.substr(0, at);
      rest.remove_prefix(at + 1);
      if (!is_name(host.user)) refuse(word, "names no user");
    }
    const std::size_t colon = rest.find(':');
    host.address = rest.substr(0, colon);
    if (!is_name(host.address)) refuse(word, "is no host: write n1, n1 slots=4 or n1:4");
    if (colon != rest.npos) host.slots = slots_in(rest.substr(colon + 1), word);
    return host;
  }

  /// "slots=4"; "max_slots=4" and "max-slots=4" limit what fastgpu never exceeds.
  void take_field(std::string_view word, HostEntry& host) const {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const bool is_slots = key == "slots" && equals != word.npos && !host.slots;
    const bool is_limit = key == "max_slots" || key == "max-slots";
    if (is_slots)
      host.slots = slots_in(word.substr(equals + 1), word);
    else if (!is_limit)
      refuse(word, "is not understood behind a host: only slots=N is");
  }

  void add(HostEntry host) {
    const auto there = std::ranges::find(hosts_, host.address, &HostEntry::address);
    if (there == hosts_.end()) {
      if (hosts_.size() == kMostHosts) refuse(host.address, "is one host too many");
      hosts_.push_back(std::move(host));
      return;
    }
    const int all = there->slots.value_or(1) + host.slots.value_or(1);
    there->slots = std::min(all, kMostSlots);
  }

  const std::string& source_;
  int line_ = 0;
  std::vector<HostEntry> hosts_;
};

}  // namespace

std::vector<HostEntry> read_host_file(std::string_view text, const std::string& source) {
  HostFile file(source);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    file.take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(file).hosts();
}

}  // namespace fastgpu::config
