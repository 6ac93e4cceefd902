#include "ssh/known_hosts.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/base64.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "ssh/host_patterns.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

/// Removes the first word from `line` and returns it; empty at the end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kSpace = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(word.size());
  return word;
}

/// Returns true if `name` matches "|1|salt|hash": the hash is the name's HMAC-SHA1 under the salt.
bool hashed_match(std::string_view pattern, std::string_view name) {
  const auto bar = pattern.find('|', 3);
  if (bar == pattern.npos) return false;
  const auto salt = base64_decode(pattern.substr(3, bar - 3));
  const auto hash = base64_decode(pattern.substr(bar + 1));
  if (!salt || !hash) return false;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha1(), salt->data(), static_cast<int>(salt->size()),
       reinterpret_cast<const unsigned char*>(name.data()), name.size(), digest.data(), &size);
  return *hash == std::string_view(reinterpret_cast<const char*>(digest.data()), size);
}

bool name_match(std::string_view pattern, const std::string& name) {
  return pattern.starts_with("|1|") ? hashed_match(pattern, name) : pattern_match(pattern, name);
}

bool names_match(std::string_view patterns, const std::string& name) {
  bool found = false;
  while (!patterns.empty()) {
    std::string_view one = patterns.substr(0, patterns.find(','));
    patterns.remove_prefix(std::min(one.size() + 1, patterns.size()));
    const bool negated = one.starts_with('!');
    if (negated) one.remove_prefix(1);
    if (!name_match(one, name)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

enum class Marker : std::uint8_t { none, revoked, authority };

struct Entry {
  Marker marker = Marker::none;
  std::string type;
  std::string key;  // The key, with its type before it.
};

std::optional<Marker> marker_of(std::string_view word) {
  if (word == "@revoked") return Marker::revoked;
  if (word == "@cert-authority") return Marker::authority;
  return std::nullopt;
}

/// Returns true if the patterns of a line match the host. As in OpenSSH, a line with a marker also
/// matches the name without the port.
bool means_host(Marker marker, std::string_view patterns, std::string_view address,
                std::uint16_t port) {
  const std::string plain(address);
  if (port == 22) return names_match(patterns, plain);
  return names_match(patterns, "[" + plain + "]:" + std::to_string(port)) ||
         (marker != Marker::none && names_match(patterns, plain));
}

/// Returns the entry in the line; absent if the line is not about the host or is malformed.
std::optional<Entry> entry_for(std::string_view line, std::string_view address,
                               std::uint16_t port) {
  std::string_view first = next_word(line);
  if (first.empty() || first.starts_with('#')) return std::nullopt;
  Entry entry;
  if (const auto marker = marker_of(first)) {
    entry.marker = *marker;
    first = next_word(line);
  }
  if (!means_host(entry.marker, first, address, port)) return std::nullopt;
  entry.type = next_word(line);
  const std::string_view encoded = next_word(line);
  const auto blob = base64_decode(encoded);
  if (!blob || SshWireReader(*blob).string() != std::string_view(entry.type)) return std::nullopt;
  entry.key = entry.type + " " + std::string(encoded);
  return entry;
}

bool is_usable(const std::string& key) try {
  public_key_blob(key);
  return true;
} catch (const Error&) {
  return false;
}

void add_other(const Entry& entry, KnownHost& known) {
  known.other_types.insert(entry.type);
  known.other_keys.push_back(entry.key);
}

void take(const Entry& entry, KnownHost& known) {
  switch (entry.marker) {
    case Marker::revoked:
      known.revoked.push_back(entry.key);
      break;
    case Marker::authority:
      known.authorities.push_back(entry.key);
      break;
    case Marker::none:
      if (is_usable(entry.key))
        known.keys.push_back(entry.key);
      else if (entry.type != "ssh-ed25519")
        add_other(entry, known);
      break;
  }
}

}  // namespace

bool KnownHost::is_revoked(const std::string& key) const {
  return contains(revoked, key);
}

KnownHost known_host(std::string_view text, std::string_view address, std::uint16_t port) {
  KnownHost known;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (const auto entry = entry_for(line, address, port)) take(*entry, known);
  }
  return known;
}

KnownHost known_host_in(std::span<const std::filesystem::path> files, std::string_view address,
                        std::uint16_t port) {
  std::string text;
  for (const std::filesystem::path& file : files) {
    if (!path_exists(file)) continue;
    if (!std::filesystem::is_regular_file(file))
      throw Error(ErrorKind::usage, file.string() + " is not a regular file");
    text += read_file(file).value_or("") + "\n";
  }
  return known_host(text, address, port);
}

}  // namespace fastgpu::ssh
