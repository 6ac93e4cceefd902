#include "provision/cloud/answer_form.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"
#include "http/urls.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr int kNetworkAuthentication = 511;
constexpr std::array<std::string_view, 6> kPageStarts = {"<!doctype html", "<html",   "<head",
                                                         "<body",          "<script", "<title"};

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first == text.npos ? "" : text.substr(first);
}

}  // namespace

bool is_web_page(const http::Response& response) {
  if (response.status == kNetworkAuthentication) return true;
  if (response.status / 100 != 2) return false;
  const std::string start = ascii_lower(std::string(without_space(response.body).substr(0, 14)));
  // The Content-Type is ignored: a proxy may write a wrong one on a right answer.
  return std::ranges::any_of(kPageStarts,
                             [&](std::string_view one) { return start.starts_with(one); });
}

}  // namespace fastgpu::provision::cloud
