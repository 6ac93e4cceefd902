#include "cloudsim/auth/signature.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/join.hpp"
#include "base/split.hpp"

namespace fastgpu::cloudsim {

std::vector<std::string> split(std::string_view text, char separator) {
  const auto parts = fastgpu::split(text, separator);
  return {parts.begin(), parts.end()};
}

std::string canonical_headers(const std::vector<std::string>& names,
                              const std::function<std::string(const std::string&)>& value_of) {
  std::string lines;
  std::string joined;
  for (const std::string& name : names) {
    lines += name + ":" + value_of(name) + "\n";
    append_item(joined, name, ";");
  }
  return lines + "\n" + joined;
}

std::string Claim::part(std::size_t n) const {
  const auto parts = split(credential, '/');
  return n < parts.size() ? parts[n] : "";
}

Claim read_claim(std::string_view authorization) {
  Claim claim;
  const std::size_t space = std::min(authorization.find(' '), authorization.size());
  claim.scheme = authorization.substr(0, space);
  for (const std::string& field : split(authorization.substr(space), ',')) {
    const std::string text(trimmed(field));
    const std::size_t equals = std::min(text.find('='), text.size() - (text.empty() ? 0 : 1));
    const std::string name = text.substr(0, equals);
    const std::string value = text.empty() ? "" : text.substr(equals + 1);
    if (name == "Credential" || name == "Access") claim.credential = value;
    if (name == "SignedHeaders") claim.signed_headers = split(value, ';');
    if (name == "Signature") claim.signature = value;
  }
  return claim;
}

std::string canonical_query(std::string_view query, Plus plus) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : parse_form(query, plus))
    pairs.emplace_back(percent_encode(name), percent_encode(value));
  std::ranges::sort(pairs);
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += out.empty() ? "" : "&";
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

}  // namespace fastgpu::cloudsim
