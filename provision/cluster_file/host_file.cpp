#include "provision/cluster_file/host_file.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/name_ranges.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"
#include "provision/cluster_file/host_word.hpp"
#include "provision/cluster_spec.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::size_t kMostHosts = 10'000;
constexpr int kHighestFilePort = 65'535;

std::vector<std::string_view> words_of(std::string_view line) {
  return split_words(line.substr(0, line.find('#')));
}

class HostFile {
 public:
  HostFile(const std::string& source, const HostEntry& defaults)
      : source_(source), defaults_(defaults) {}

  void take(std::string_view line) {
    ++line_;
    const auto words = words_of(line);
    if (words.empty()) return;
    if (is_assignment(words)) refuse_assignment(words.front());
    const auto names = names_in(words.front());
    HostEntry host = host_in(words.front());
    for (std::size_t i = 1; i < words.size(); ++i)
      take_field(words[i], host);
    for (const std::string& name : names) {
      host.address = name;
      if (!host.port) host.port = defaults_.port;
      add(host);
    }
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

  /// Returns true for "nodes = 2" and "nodes=2".
  static bool is_assignment(const std::vector<std::string_view>& words) {
    const auto is_sign = [](std::string_view word) { return word.starts_with('='); };
    return std::ranges::any_of(words, is_sign) || words.front().find('=') != words.front().npos;
  }

  [[noreturn]] void refuse_assignment(std::string_view word) const {
    refuse(word.substr(0, word.find('=')),
           "is assigned a value, as in an INI file: a hostfile has a host on each line, and a "
           "cluster file is YAML (see `fastgpu init cluster`)");
  }

  int number_in(std::string_view digits, std::string_view word, const char* what, int most) const {
    const int number = to_number<int>(digits).value_or(0);
    if (number < 1 || number > most)
      refuse(word, "has no " + std::string(what) + " from 1 to " + std::to_string(most));
    return number;
  }

  int slots_in(std::string_view digits, std::string_view word) const {
    return number_in(digits, word, "number of slots", kMostSlots);
  }

  /// Returns the addresses in a host's word: "n1", "n1:4", "user@n[01-04]", "[fd00::1]:4".
  std::vector<std::string> names_in(std::string_view word) const {
    const std::string_view place = word.substr(word.rfind('@') + 1);
    const std::string_view name = split_host(place).address;
    std::vector<std::string> names;
    try {
      if (name.find(':') != name.npos)
        names = {std::string(name)};
      else if (auto all = expand_name(name, kMostHosts))
        names = *std::move(all);
      for (const std::string& one : names)
        check_address(one);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::usage) throw;
      names.clear();
    }
    if (names.empty())
      refuse(word, "is not a host: write n1, n1 slots=4, n1:4 or n[01-04] slots=4");
    return names;
  }

  /// Reads everything in a host's word except its address.
  HostEntry host_in(std::string_view word) const {
    HostEntry host = defaults_;
    host.port.reset();
    host.where = source_ + ":" + std::to_string(line_);
    std::string_view place = word;
    if (const std::size_t at = word.rfind('@'); at != word.npos) {
      take_user(word.substr(0, at), word, host);
      place = word.substr(at + 1);
    }
    const auto rest = split_host(place).rest;
    if (rest && is_port(*rest))
      refuse(word, "has slots behind the colon, at most " + std::to_string(kMostSlots) +
                       ": write a port as port=" + std::string(*rest));
    if (rest) host.slots = slots_in(*rest, word);
    return host;
  }

  static bool is_port(std::string_view digits) {
    const int number = to_number<int>(digits).value_or(0);
    return number > kMostSlots && number <= kHighestFilePort;
  }

  void take_user(std::string_view user, std::string_view word, HostEntry& host) const {
    try {
      check_user(user);
    } catch (const Error&) {
      refuse(word, "names no user");
    }
    host.user = user;
  }

  /// Reads "slots=4", "port=2222" or "username=ann". Ignores "max_slots=4" and "max-slots=4":
  /// fastgpu never uses more slots than there are.
  void take_field(std::string_view word, HostEntry& host) const {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    const auto is_one_of = [&](std::initializer_list<std::string_view> keys) {
      return equals < word.size() && contains(keys, key);
    };
    if (is_one_of({"slots"}) && !host.slots)
      host.slots = slots_in(value, word);
    else if (is_one_of({"port"}) && !host.port)
      host.port = static_cast<std::uint16_t>(number_in(value, word, "port", kHighestFilePort));
    else if (is_one_of({"username", "user_name", "user-name", "user"}) && host.user.empty())
      take_user(value, word, host);
    else if (key != "max_slots" && key != "max-slots")
      refuse(word, "is not understood behind a host: only slots=N, port=N and username=NAME are");
  }

  void add(HostEntry host) {
    const auto there = std::ranges::find_if(hosts_, [&](const HostEntry& other) {
      return other.address == host.address && other.port == host.port;
    });
    if (there == hosts_.end()) {
      if (hosts_.size() == kMostHosts) refuse(host.address, "is one host too many");
      hosts_.push_back(std::move(host));
      return;
    }
    if (there->user != host.user)
      throw Error(ErrorKind::usage, host.where + ": host " + printable(host.address) +
                                        " is there twice, for " + user_text(*there) + " and for " +
                                        user_text(host) + ": a host has one user in a cluster");
    const int all = there->slots.value_or(1) + host.slots.value_or(1);
    there->slots = std::min(all, kMostSlots);
  }

  static std::string user_text(const HostEntry& host) {
    return host.user.empty() ? "the cluster's user" : printable(host.user);
  }

  const std::string& source_;
  const HostEntry& defaults_;
  int line_ = 0;
  std::vector<HostEntry> hosts_;
};

}  // namespace

bool is_host_file(std::string_view text) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7f;
  };
  if (std::ranges::any_of(text, is_control)) return false;  // Not a text at all.
  bool has_words = false;
  for (const std::string_view line : split_lines(text)) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    has_words = true;
    const auto is_yaml = [](std::string_view word) {
      return word.ends_with(':') || word == "-" || word == "?" || word.starts_with('{') ||
             word.starts_with('"') || word.starts_with('\'') || word.starts_with("---");
    };
    if (std::ranges::any_of(words, is_yaml)) return false;
  }
  return has_words;
}

std::vector<HostEntry> read_host_file(std::string_view text, const std::string& source,
                                      const HostEntry& defaults) {
  HostFile file(source, defaults);
  for (const std::string_view line : split_lines(text))
    file.take(line);
  return std::move(file).hosts();
}

}  // namespace fastgpu::provision
