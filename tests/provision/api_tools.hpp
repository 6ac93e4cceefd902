// What a cloud is given to work with where a test answers for it.
#pragma once

#include <string>

#include "base/json.hpp"
#include "provision/cloud/caller.hpp"

namespace fastgpu::test {

class Unheard final : public provision::cloud::CallObserver {
 public:
  void attempted(const provision::cloud::CallReport&) override {}
};

/// Answers every request with the same text.
class SameAnswer final : public http::Client {
 public:
  explicit SameAnswer(http::Response answer) : answer_(std::move(answer)) {}
  http::Response send(const http::Request&, const Cancel&) override {
    constexpr int kMostQuestions = 200;  // A list without an end is cut there.
    if (++asked_ > kMostQuestions) return {.status = 400, .headers = {}, .body = "{}"};
    return answer_;
  }

 private:
  http::Response answer_;
  int asked_ = 0;
};

/// As answers of Alibaba Cloud and Tencent Cloud are: each has the request's identity, Tencent's in
/// its "Response".
inline std::string with_request_id(const std::string& body) {
  auto answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object()) return body;
  auto& place = answer.contains("Response") ? answer["Response"] : answer;
  if (place.is_object()) place["RequestId"] = "r-1";
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Keys that are there, waiting that takes no time, and two attempts at each call.
inline provision::cloud::ApiTools tools_over(http::Client& http,
                                             provision::cloud::CallObserver& observer) {
  return {.http = http,
          .observer = observer,
          .find_credentials =
              [] {
                provision::credentials::Credentials found;
                found.keys = {"key", Secret("s3cret")};
                found.project_id = "p";
                return found;
              },
          .wait = [](std::chrono::milliseconds, const Cancel&) {},
          .random = [] { return 0.0; },
          .backoff = {.attempts = 2}};
}

}  // namespace fastgpu::test
