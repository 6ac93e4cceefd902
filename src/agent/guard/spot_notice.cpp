#include "agent/guard/spot_notice.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "agent/guard/metadata_client.hpp"
#include "base/ascii.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::chrono::milliseconds kNoticeTimeout{1'000};

/// The service of a cloud that gives notices, and its protocol.
struct NoticeService {
  std::string_view cloud;
  std::string_view address;
  std::string_view token_path;      ///< Empty if no token is needed.
  std::string_view token_lifetime;  ///< The header that requests a token.
  std::string_view token;           ///< The header that contains it.
  std::string_view taken_back;
  std::string_view at_risk;  ///< Empty if the cloud has no such notice.
  std::int64_t ahead = 0;    ///< The number of seconds by which its times are ahead of UTC.
};

constexpr std::array kServices = {
    NoticeService{"aws", "169.254.169.254", "/latest/api/token",
                  "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token",
                  "/latest/meta-data/spot/instance-action",
                  "/latest/meta-data/events/recommendations/rebalance"},
    NoticeService{"alibaba", "100.100.100.200", "/latest/api/token",
                  "X-aliyun-ecs-metadata-token-ttl-seconds", "X-aliyun-ecs-metadata-token",
                  "/latest/meta-data/instance/spot/termination-time", ""},
    NoticeService{"tencent", "169.254.0.23", "", "", "", "/latest/meta-data/spot/termination-time",
                  "", 28'800},
    NoticeService{"huawei", "169.254.169.254", "/meta-data/latest/api/token",
                  "X-Metadata-Token-Ttl-Seconds", "X-Metadata-Token",
                  "/openstack/latest/spot/instance-action", ""},
};

constexpr std::string_view kPattern = "dddd-dd-dd?dd:dd:dd";

bool fits(std::string_view text) {
  return std::ranges::equal(text, kPattern, [](char c, char wanted) {
    if (wanted == 'd') return is_ascii_digit(c);
    return wanted == '?' ? c == 'T' || c == ' ' : c == wanted;
  });
}

int number_at(std::string_view text, std::size_t place, std::size_t size) {
  return leading_number<int>(text.substr(place, size)).value_or(0);
}

/// Returns the header with the token; "" if the service needs none, or gives none.
std::string token_header(const NoticeService& service, std::string_view address) {
  if (service.token_path.empty()) return {};
  const std::string request = std::string(service.token_lifetime) + ": 60\r\n";
  const auto token = fetch_metadata(address, "PUT", service.token_path, request, kNoticeTimeout);
  if (!token || token->empty() || token->find_first_of("\r\n") != std::string::npos) return {};
  return std::string(service.token) + ": " + *token + "\r\n";
}

std::int64_t time_at(const NoticeService& service, std::string_view address, std::string_view path,
                     const std::string& headers) {
  if (path.empty()) return 0;
  const auto answer = fetch_metadata(address, "GET", path, headers, kNoticeTimeout);
  const std::int64_t time = answer ? time_in(*answer) : 0;
  return time == 0 ? 0 : time - service.ahead;
}

}  // namespace

std::int64_t time_in(std::string_view text) {
  for (; text.size() >= kPattern.size(); text.remove_prefix(1)) {
    const std::string_view found = text.substr(0, kPattern.size());
    if (!fits(found)) continue;
    std::tm utc{};
    utc.tm_year = number_at(found, 0, 4) - 1900;
    utc.tm_mon = number_at(found, 5, 2) - 1;
    utc.tm_mday = number_at(found, 8, 2);
    utc.tm_hour = number_at(found, 11, 2);
    utc.tm_min = number_at(found, 14, 2);
    utc.tm_sec = number_at(found, 17, 2);
    return std::max<std::int64_t>(0, ::timegm(&utc));
  }
  return 0;
}

SpotNotice spot_notice(std::string_view cloud, std::string_view address) {
  const auto service = std::ranges::find(kServices, cloud, &NoticeService::cloud);
  if (service == kServices.end()) return {};
  const std::string_view where = address.empty() ? service->address : address;
  const std::string headers = token_header(*service, where);
  return {.taken_back = time_at(*service, where, service->taken_back, headers),
          .at_risk = time_at(*service, where, service->at_risk, headers)};
}

}  // namespace fastgpu::agent
