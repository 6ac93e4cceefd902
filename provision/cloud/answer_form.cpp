#include "provision/cloud/answer_form.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "http/urls.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr int kMostDepth = 64;
constexpr int kMostValues = 500'000;
constexpr int kNetworkAuthentication = 511;
constexpr std::array<std::string_view, 6> kPageStarts = {"<!doctype html", "<html",   "<head",
                                                         "<body",          "<script", "<title"};

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first == text.npos ? "" : text.substr(first);
}

/// Returns the position after the string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at;
}

}  // namespace

bool is_web_page(const http::Response& response) {
  if (response.status == kNetworkAuthentication) return true;
  if (response.status / 100 != 2) return false;
  const std::string start =
      http::lower_case(std::string(without_space(response.body).substr(0, 14)));
  // The Content-Type is ignored: a proxy may write a wrong one on a right answer.
  return std::ranges::any_of(kPageStarts,
                             [&](std::string_view one) { return start.starts_with(one); });
}

bool is_bounded_json(std::string_view text) {
  const std::string_view body = without_space(text);
  if (!body.starts_with('{') && !body.starts_with('[')) return true;
  int depth = 0;
  int values = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '"') i = behind_string(body, i);
    if (c == ']' || c == '}') --depth;
    if (c == '[' || c == '{') ++depth;
    if (c == '[' || c == '{' || c == ',') ++values;
    if (depth > kMostDepth || values > kMostValues) return false;
  }
  return true;
}

}  // namespace fastgpu::provision::cloud
