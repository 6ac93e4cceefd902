#include "provision/credentials/metadata.hpp"

#include "base/names.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::credentials {
namespace {

using namespace std::chrono_literals;

/// The lifetime of tokens; the clouds' own tools request the same.
constexpr const char* kLifetimeSeconds = "21600";

}  // namespace

bool Metadata::begin(const TokenStep& step, Token need) {
  const auto answer = ask({.method = "PUT",
                           .url = base_ + step.path,
                           .headers = {{step.lifetime_header, kLifetimeSeconds}}});
  if (!answer) return false;
  if (answer->status == 200) headers_ = {{step.token_header, answer->body}};
  return answer->status == 200 || need == Token::wanted;
}

std::optional<std::string> Metadata::get(const std::string& path) {
  auto answer = ask({.url = base_ + path, .headers = headers_});
  if (!answer || answer->status != 200) return std::nullopt;
  return std::move(answer->body);
}

std::optional<http::Response> Metadata::ask(const http::Request& request) try {
  http::Request bounded = request;
  bounded.limit = 2s;
  bounded.connect_limit = 1s;
  bounded.largest_answer = 1U << 16U;
  // The address is only valid on this machine's own link, never through a proxy.
  bounded.direct = true;
  return search_.sources().http.send(bounded, search_.sources().cancel);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  return std::nullopt;  // No such service: this machine is not in that cloud.
}

std::string role_in(const std::string& text) {
  const std::string_view line = std::string_view(text).substr(0, text.find_first_of("\r\n"));
  return http::percent_encode(trimmed(line));
}

std::optional<Credentials> role_keys(Metadata& metadata, const RolePlace& place,
                                     const std::string& role) {
  const std::string name =
      role.empty() ? role_in(metadata.get(place.folder).value_or("")) : http::percent_encode(role);
  if (name.empty()) return std::nullopt;
  const auto answer = metadata.get(place.folder + name);
  if (!answer) return std::nullopt;
  const std::string source = std::string("role ") + printable(name) + " in " + place.who;
  const auto object = parse_object(*answer, source, ErrorKind::remote);
  const std::string code = text_of(object, "Code");
  if (!code.empty() && code != "Success")
    throw Error(ErrorKind::denied, source + " has no keys: " + printable(code));
  return keys_in(object, place.names, source);
}

}  // namespace fastgpu::provision::credentials
