#include "ssh/openssh_failure.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/join.hpp"
#include "base/names.hpp"
#include "ssh/connection.hpp"
#include "ssh/host_key_failure.hpp"
#include "ssh/keys.hpp"

namespace fastgpu::ssh {
namespace {

/// Returns true if `text` contains one of the texts.
bool has_any(std::string_view text, std::span<const std::string_view> wanted) {
  return std::ranges::any_of(wanted,
                             [&](std::string_view one) { return text.find(one) != text.npos; });
}

std::string_view line_with(std::string_view text, std::string_view part) {
  const auto at = text.find(part);
  if (at == text.npos) return {};
  const auto begin = text.rfind('\n', at) == text.npos ? 0 : text.rfind('\n', at) + 1;
  const std::string_view line =
      text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
  return line.substr(0, line.find_last_not_of(" \r.") + 1);
}

/// Returns the last line, ignoring lines that are usual in a working connection.
std::string_view last_line(std::string_view text) {
  constexpr std::array<std::string_view, 4> kUsual = {"Transferred:", "Bytes per second",
                                                      "Executing proxy command", "Authenticated"};
  while (!text.empty()) {
    const auto end = text.find_last_not_of(" \r\n");
    if (end == text.npos) return {};
    text = text.substr(0, end + 1);
    const auto line_begin = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
    const std::string_view line = text.substr(line_begin);
    if (!has_any(line, kUsual)) return line;
    text = text.substr(0, line_begin);
  }
  return {};
}

/// The messages of the client and its proxies about a failed login. A proxy may be a client for a
/// jump host.
struct ClientWords {
  const Host& host;
  std::string_view log;     ///< The client's own log.
  std::string_view errors;  ///< The stderr of its proxies.

  /// Returns the line that contains `part`, or an empty text.
  std::string line(std::string_view part) const {
    const std::string_view own = line_with(log, part);
    return std::string(own.empty() ? line_with(errors, part) : own);
  }

  /// Returns the place that the lines with `parts` are about: the host if the client has logged
  /// them, else the jump host that a proxy names after one of `before_name`.
  std::string place_of(std::span<const std::string_view> parts,
                       std::span<const std::string_view> before_name) const {
    if (has_any(log, parts)) return place(host);
    for (const Host& jump : host.jumps)
      for (const std::string_view before : before_name)
        for (const std::string& name : {jump.name.value, jump.address})
          for (const char after : {' ', ':'})
            if (errors.find(std::string(before) + name + after) != errors.npos)
              return place(jump) + ", on the way to " + place(host);
    return "the way to " + place(host);
  }

  Error failure(ErrorKind kind, const std::string& reason) const {
    return {kind, place(host) + ": " + printable(reason, 400)};
  }
};

/// Returns " SHA256:...": the fingerprints of the host's known keys; "" if the key may be that of a
/// jump host.
std::string known_keys(const Host& host) {
  std::string list;
  if (!host.jumps.empty()) return list;
  for (const std::string& key : host.host_keys)
    append_item(list, fingerprint(key), " or ");
  return list.empty() ? list : " " + list;
}

std::optional<Error> key_failure(const ClientWords& words) {
  constexpr std::array<std::string_view, 3> kParts = {
      "HOST IDENTIFICATION HAS CHANGED", "host key is known for", "Host key verification failed"};
  constexpr std::array<std::string_view, 2> kBeforeName = {"Host key for ",
                                                           "host key is known for "};
  if (!has_any(words.log, kParts) && !has_any(words.errors, kParts)) return std::nullopt;
  const std::string shown = words.line("SHA256:");
  const std::string key =
      shown.empty() ? "" : " (it is " + printable(shown.substr(shown.find("SHA256:"))) + ")";
  return Error(ErrorKind::denied,
               words.place_of(kParts, kBeforeName) + ": its host key is not one of the known keys" +
                   known_keys(words.host) + key + foreign_key_text(words.host.key_source));
}

std::optional<Error> algorithm_failure(const ClientWords& words) {
  const std::string line = words.line("Unable to negotiate");
  if (line.empty()) return std::nullopt;
  const auto at = line.find("no matching");
  return words.failure(ErrorKind::denied, "no common algorithms, even for OpenSSH's client: " +
                                              (at == line.npos ? line : line.substr(at)));
}

/// Returns what the login was tried with: "with the key /home/me/id (which cannot be read: invalid
/// format)".
std::string keys_of_login(const ClientWords& words) {
  const Host& host = words.host;
  const std::string file = host.identity.string();
  std::string key = "the key " + file;
  const std::string unread = file.empty() ? "" : words.line("Load key \"" + file + "\": ");
  if (!unread.empty())
    key += " (which cannot be read: " + unread.substr(unread.rfind("\": ") + 3) +
           "; a private key is needed)";
  if (!host.openssh || host.openssh->login != Login::as_user) return "with " + key;
  const std::string others = "your keys, agent and certificates (ssh -v shows them)";
  return "with " + (file.empty() ? others : key + " and " + others);
}

std::optional<Error> login_failure(const ClientWords& words) {
  constexpr std::array<std::string_view, 1> kParts = {"Permission denied"};
  constexpr std::array<std::string_view, 1> kBeforeName = {"@"};
  const Host& host = words.host;
  if (const std::string line = words.line(kParts[0]); !line.empty()) {
    if (has_any(words.log, kParts))
      return words.failure(ErrorKind::denied,
                           "login as " + host.user + " " + keys_of_login(words) + " is refused");
    return Error(ErrorKind::denied, words.place_of(kParts, kBeforeName) +
                                        ": login is refused: " + printable(line, 400));
  }
  if (words.line("Too many authentication failures").empty()) return std::nullopt;
  return words.failure(
      ErrorKind::denied,
      "login as " + host.user + " is refused after too many keys: name one as the host's identity");
}

std::optional<Error> config_failure(const ClientWords& words) {
  for (const std::string_view part :
       {"Bad configuration option", "bad configuration options", "Bad owner or permissions"})
    if (const auto line = words.line(part); !line.empty())
      return words.failure(ErrorKind::usage, line);
  return std::nullopt;
}

}  // namespace

bool openssh_logged_in(std::string_view log) {
  return log.find("Authenticated to ") != log.npos;
}

bool openssh_lost(std::string_view log) {
  constexpr std::array<std::string_view, 9> kLost = {
      "Connection reset",   "Connection closed",    "closed by remote host",   "Broken pipe",
      "not responding",     "Connection timed out", "message authentication ", "Corrupted MAC",
      "Received disconnect"};
  return has_any(log, kLost);
}

bool openssh_turned_away(std::string_view log) {
  constexpr std::array<std::string_view, 3> kClosed = {
      "exchange_identification: ", "banner exchange: ", "MaxStartups"};
  constexpr std::array<std::string_view, 3> kHow = {"closed by remote host", "reset by peer",
                                                    "MaxStartups"};
  return has_any(log, kClosed) && has_any(log, kHow);
}

Error openssh_failure(const Host& host, std::string_view log, std::string_view errors) {
  const ClientWords words{.host = host, .log = log, .errors = errors};
  for (const auto& failure_in : {key_failure, algorithm_failure, login_failure, config_failure})
    if (const auto failure = failure_in(words)) return *failure;
  if (const auto line = words.line("Could not resolve hostname"); !line.empty())
    return words.failure(ErrorKind::transient, line.substr(line.find("Could not")));
  std::string last(last_line(log));
  if (const auto line = last_line(errors); !line.empty())
    last += (last.empty() ? "" : " (") + std::string(line) + (last.empty() ? "" : ")");
  return words.failure(ErrorKind::transient,
                       last.empty() ? "ssh ended without a word" : "ssh: " + last);
}

}  // namespace fastgpu::ssh
