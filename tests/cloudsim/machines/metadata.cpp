#include "cloudsim/machines/metadata.hpp"

#include <algorithm>
#include <array>

#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim {
namespace {

constexpr std::chrono::hours kTencentAhead{8};

/// The protocol of a vendor. Only AWS's instances that were launched with this setting require a
/// token.
struct Words {
  std::string_view vendor, token_path, lifetime_header, token_header, taken_back, at_risk;
  bool needs_token = false;
};

constexpr std::array kWords = {
    Words{"aws", "/latest/api/token", "x-aws-ec2-metadata-token-ttl-seconds",
          "x-aws-ec2-metadata-token", "/latest/meta-data/spot/instance-action",
          "/latest/meta-data/events/recommendations/rebalance", true},
    Words{"alibaba", "/latest/api/token", "x-aliyun-ecs-metadata-token-ttl-seconds",
          "x-aliyun-ecs-metadata-token", "/latest/meta-data/instance/spot/termination-time", ""},
    Words{"tencent", "", "", "", "/latest/meta-data/spot/termination-time", ""},
    Words{"huawei", "/meta-data/latest/api/token", "x-metadata-token-ttl-seconds",
          "x-metadata-token", "/openstack/latest/spot/instance-action", ""},
};

Reply plain(int status, std::string text) {
  return {.status = status, .content_type = "text/plain", .body = std::move(text)};
}

std::string token_of(const Instance& instance) {
  return "token-" + instance.id;
}

std::string taken_back_text(std::string_view vendor, Time when) {
  if (vendor == "alibaba") return iso_time(when);
  if (vendor == "tencent") {
    std::string text = iso_time(when + kTencentAhead).substr(0, 19);
    text[10] = ' ';
    return text;
  }
  return R"({"action": "terminate", "time": ")" + iso_time(when) + R"("})";
}

Reply notice(const Instance& instance, const Words& words, const std::string& path) {
  if (path == words.taken_back && instance.reclaim_at)
    return plain(200, taken_back_text(words.vendor, *instance.reclaim_at));
  if (path == words.at_risk && instance.extra.contains("at_risk"))
    return plain(200, Json{{"noticeTime", instance.extra.at("at_risk")}}.dump());
  return plain(404, "not found\n");
}

}  // namespace

Reply metadata(SimulatedWorld& world, const std::string& peer, const Request& request) {
  for (const auto& [id, instance] : world.instances) {
    if (instance.private_address != peer || instance.state == State::terminated) continue;
    const auto words = std::ranges::find(kWords, instance.scope.vendor, &Words::vendor);
    if (words == kWords.end()) break;
    const bool is_token = !words->token_path.empty() && request.path == words->token_path;
    if (is_token && (request.method != "PUT" || !request.header(words->lifetime_header)))
      return plain(400, "a token is put, and for so many seconds\n");
    if (is_token) return plain(200, token_of(instance));
    const auto shown = request.header(words->token_header);
    if ((shown || words->needs_token) && shown != token_of(instance))
      return plain(401, "unauthorized\n");
    return notice(instance, *words, request.path);
  }
  return plain(404, "nobody's address\n");
}

}  // namespace fastgpu::cloudsim
