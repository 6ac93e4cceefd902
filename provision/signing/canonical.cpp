#include "provision/signing/canonical.hpp"

#include <algorithm>
#include <map>

#include "base/ascii.hpp"
#include "base/join.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::signing {
namespace {

/// Replaces runs of white space by one space.
std::string collapsed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!is_space)
      result += c;
    else if (!result.ends_with(' '))
      result += ' ';
  }
  return result;
}

}  // namespace

std::string canonical_text(const Canonical& canonical) {
  std::string text = canonical.method + "\n" + canonical.path + "\n" + canonical.query + "\n";
  for (const http::Header& header : canonical.headers)
    text += header.name + ":" + header.value + "\n";
  return text + "\n" + signed_names(canonical.headers) + "\n" + canonical.body_hash;
}

std::string signed_names(const std::vector<http::Header>& headers) {
  std::string names;
  for (const http::Header& header : headers)
    append_item(names, header.name, ";");
  return names;
}

std::vector<http::Header> canonical_headers(
    const std::vector<http::Header>& headers,
    const std::function<bool(std::string_view name)>& wanted, InnerSpaces spaces) {
  std::map<std::string, std::string> found;
  for (const http::Header& header : headers) {
    const std::string name = ascii_lower(header.name);
    if (name == "authorization" || !wanted(name)) continue;
    const std::string_view inner = trimmed(header.value);
    const std::string value =
        spaces == InnerSpaces::collapsed ? collapsed(inner) : std::string(inner);
    const auto [place, is_new] = found.try_emplace(name, value);
    if (!is_new) place->second += "," + value;
  }
  std::vector<http::Header> ordered;
  for (const auto& [name, value] : found)
    ordered.push_back({name, value});
  return ordered;
}

std::string canonical_query(std::string_view query) {
  http::Parameters encoded;
  for (const auto& [name, value] : http::parse_query(query))
    encoded.emplace_back(http::percent_encode(name), http::percent_encode(value));
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded)
    append_item(text, name + "=" + value, "&");
  return text;
}

std::string encoded_path(std::string_view path) {
  std::string encoded;
  for (;;) {
    const std::size_t slash = path.find('/');
    encoded += http::percent_encode(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    encoded += '/';
    path.remove_prefix(slash + 1);
  }
  return encoded.empty() ? "/" : encoded;
}

void add_host(http::Request& request) {
  if (http::find_header(request.headers, "Host")) return;
  http::set_header(request.headers, "Host", http::parse_url(request.url).authority);
}

}  // namespace fastgpu::provision::signing
