#include "envs/environments/index_logins.hpp"

#include <algorithm>

#include "agent/protocol/index_login.hpp"
#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "http/urls.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kScheme = "://";

/// Returns the position behind "https://host:port".
std::size_t end_of_host(std::string_view address) {
  const auto begin = address.find(kScheme);
  if (begin == address.npos) return address.size();
  return std::min(address.find_first_of("/?#", begin + kScheme.size()), address.size());
}

std::string with_slash(const std::string& text) {
  return text.ends_with('/') ? text : text + '/';
}

/// Returns "host" of "https://host:port/path", in lower case.
std::string host_in(std::string_view address) {
  const auto begin = address.find(kScheme);
  if (begin == address.npos) return "";
  const auto from = begin + kScheme.size();
  return ascii_lower(http::host_of(address.substr(from, end_of_host(address) - from)));
}

/// Reads the words of a netrc file; a word may be in double quotes.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}

  std::optional<std::string> next() {
    left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size()));
    while (left_.starts_with('#')) {
      left_.remove_prefix(std::min(left_.find('\n'), left_.size()));
      left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size()));
    }
    if (left_.empty()) return std::nullopt;
    return left_.starts_with('"') ? quoted() : plain();
  }

  void skip_macro() { left_.remove_prefix(std::min(left_.find("\n\n"), left_.size())); }

 private:
  std::string plain() {
    const auto end = std::min(left_.find_first_of(" \t\r\n"), left_.size());
    std::string word(left_.substr(0, end));
    left_.remove_prefix(end);
    return word;
  }

  std::string quoted() {
    std::string word;
    std::size_t at = 1;
    for (; at < left_.size() && left_[at] != '"'; ++at) {
      if (left_[at] == '\\' && at + 1 < left_.size()) ++at;
      word += left_[at];
    }
    left_.remove_prefix(std::min(at + 1, left_.size()));
    return word;
  }

  std::string_view left_;
};

struct Entry {
  std::string host;
  std::string user;
  std::string password;
};

/// Returns the entries of a netrc file. The one without a host, "default", applies to no index.
std::vector<Entry> entries_in(std::string_view text, const std::string& source) {
  std::vector<Entry> entries;
  Words words(without_byte_order_mark(text));
  while (const auto word = words.next()) {
    if (*word == "machine" || *word == "default") {
      const auto host = *word == "machine" ? words.next() : std::string();
      if (host) entries.push_back({ascii_lower(*host), "", ""});
      continue;
    }
    if (*word == "macdef") {
      words.skip_macro();
      continue;
    }
    const auto value = words.next();
    const bool is_known = *word == "login" || *word == "password" || *word == "account";
    if (!is_known || !value || entries.empty())
      throw Error(
          ErrorKind::usage,
          source + ": is not a netrc file: write machine HOST login USER password PASSWORD");
    if (*word == "login") entries.back().user = *value;
    if (*word == "password") entries.back().password = *value;
  }
  return entries;
}

}  // namespace

std::string root_of(std::string_view address) {
  return std::string(address.substr(0, end_of_host(address))) + "/";
}

void IndexLogins::add(const Secret& address) {
  const std::string& text = address.reveal();
  const bool is_address = text.starts_with("https://") || text.starts_with("http://");
  if (!is_address || !agent::has_login(text) || host_in(agent::without_login(text)).empty())
    throw Error(ErrorKind::usage,
                "write the login of an index as https://USER:PASSWORD@HOST/PATH; '/', '?', '#' and "
                "'@' in a password as %2F, %3F, %23 and %40");
  const auto [user, password] = agent::login_of(text);
  known_.push_back({.place = with_slash(agent::without_login(text)),
                    .any_port = false,
                    .user_and_password = Secret(user + ":" + password)});
}

void IndexLogins::add_netrc(const Secret& text, const std::string& source) {
  for (const Entry& entry : entries_in(text.reveal(), source))
    if (!entry.host.empty() && !(entry.user.empty() && entry.password.empty()))
      known_.push_back({.place = entry.host,
                        .any_port = true,
                        .user_and_password = Secret(http::percent_encode(entry.user) + ":" +
                                                    http::percent_encode(entry.password))});
}

void IndexLogins::add(const IndexLogins& others) {
  known_.insert(known_.end(), others.known_.begin(), others.known_.end());
}

/// Finds the login: the longest matching address wins, and an address wins over a host.
const IndexLogins::Login* IndexLogins::find(const std::string& address) const {
  const Login* best = nullptr;
  for (const Login& login : known_) {
    const bool fits = login.any_port ? host_in(address) == login.place
                                     : with_slash(address).starts_with(login.place) ||
                                           root_of(address) == address;
    const bool same_host = login.any_port || root_of(login.place) == root_of(address);
    if (!fits || !same_host) continue;
    if (best == nullptr || (best->any_port && !login.any_port) ||
        (best->any_port == login.any_port && login.place.size() > best->place.size()))
      best = &login;
  }
  return best;
}

std::vector<Secret> IndexLogins::for_addresses(std::span<const std::string> addresses) const {
  std::vector<Secret> out;
  for (const std::string& address : addresses) {
    const Login* const login = find(address);
    if (login == nullptr) continue;
    const auto at = address.find(kScheme) + kScheme.size();
    out.emplace_back(address.substr(0, at) + login->user_and_password.reveal() + "@" +
                     address.substr(at));
  }
  return out;
}

std::optional<Secret> IndexLogins::authorization(const std::string& address) const {
  const Login* login = find(address);
  if (login == nullptr) login = find(root_of(address));
  if (login == nullptr) return std::nullopt;
  const std::string& both = login->user_and_password.reveal();
  const auto colon = both.find(':');
  return Secret("Basic " + base64_encode(http::percent_decode(both.substr(0, colon)) + ":" +
                                         http::percent_decode(both.substr(colon + 1))));
}

}  // namespace fastgpu::envs
