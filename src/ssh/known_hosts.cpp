#include "ssh/known_hosts.hpp"

#include <fnmatch.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

/// Takes the first word off `line`; empty at its end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kSpace = " \t\r";
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(word.size());
  return word;
}

/// `pattern` is "|1|salt|hash": the hash is HMAC-SHA1 of the name under the salt.
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

bool pattern_match(std::string_view pattern, const std::string& name) {
  if (pattern.starts_with("|1|")) return hashed_match(pattern, name);
  std::string plain;  // Brackets are part of the name here, and a class for fnmatch.
  for (const char c : pattern) {
    if (c == '[' || c == ']' || c == '\\') plain += '\\';
    plain += c;
  }
  return ::fnmatch(plain.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
}

bool names_match(std::string_view patterns, const std::string& name) {
  bool found = false;
  while (!patterns.empty()) {
    std::string_view one = patterns.substr(0, patterns.find(','));
    patterns.remove_prefix(std::min(one.size() + 1, patterns.size()));
    const bool negated = one.starts_with('!');
    if (negated) one.remove_prefix(1);
    if (!pattern_match(one, name)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

struct Entry {
  bool revoked = false;
  std::string key;
};

std::optional<Entry> entry_for(std::string_view line, const std::string& name) {
  std::string_view first = next_word(line);
  const bool revoked = first == "@revoked";
  if (first == "@cert-authority" || first.empty() || first.starts_with('#')) return std::nullopt;
  if (revoked) first = next_word(line);
  if (!names_match(first, name)) return std::nullopt;
  const std::string type(next_word(line));
  const std::string key = type + " " + std::string(next_word(line));
  try {
    public_key_blob(key);
  } catch (const Error&) {
    return std::nullopt;  // Of another type, or damaged: nothing we could compare with.
  }
  return Entry{revoked, key};
}

}  // namespace

std::vector<std::string> known_host_keys(std::string_view text, std::string_view address,
                                         std::uint16_t port) {
  std::string name(address);
  if (port != 22) name = "[" + name + "]:" + std::to_string(port);
  std::vector<std::string> keys;
  std::vector<std::string> revoked;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto entry = entry_for(line, name);
    if (entry) (entry->revoked ? revoked : keys).push_back(entry->key);
  }
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::find(revoked, key) != revoked.end();
  });
  return keys;
}

std::vector<std::string> known_host_keys_in(const std::filesystem::path& file,
                                            std::string_view address, std::uint16_t port) {
  if (!path_exists(file)) return {};
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw system_error("reading " + file.string(), errno);
  return known_host_keys(text, address, port);
}

}  // namespace fastgpu::ssh
