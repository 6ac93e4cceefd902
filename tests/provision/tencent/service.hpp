// Tencent Cloud as a script: answers by action, and what was asked.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "provision/api_tools.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::test {

using nlohmann::json;

/// The last answer to an action is given again and again.
class TencentService final : public http::Client {
 public:
  struct Asked {
    std::string action;
    http::Request request;
    json body;
  };

  void reply(const std::string& action, json response) {
    if (response.is_object()) response["RequestId"] = "r-1";
    replies_[action].push_back({200, json{{"Response", response}}.dump()});
  }
  void refuse(const std::string& action, const std::string& code) {
    reply(action, {{"Error", {{"Code", code}, {"Message", "no"}}}, {"RequestId", "r-1"}});
  }
  void reply_text(const std::string& action, int status, std::string text) {
    replies_[action].push_back({status, std::move(text)});
  }
  /// The request gets through and its answer does not.
  void lose(const std::string& action) { replies_[action].push_back({0, {}}); }

  http::Response send(const http::Request& request, const Cancel&) override {
    const std::lock_guard lock(mutex_);
    const std::string action(http::find_header(request.headers, "X-TC-Action").value_or(""));
    asked.push_back({action, request, json::parse(request.body, nullptr, false)});
    auto& replies = replies_[action];
    if (replies.empty()) throw Error(ErrorKind::internal, "unexpected " + action);
    Reply next = replies.front();
    if (replies.size() > 1) replies.pop_front();
    if (next.status == 0) throw Error(ErrorKind::transient, "reset");
    return {.status = next.status, .headers = {}, .body = std::move(next.text)};
  }

  std::size_t count(const std::string& action) const {
    std::size_t n = 0;
    for (const Asked& each : asked)
      n += each.action == action ? 1 : 0;
    return n;
  }

  /// The body of the last request for the action.
  json last(const std::string& action) const {
    for (auto each = asked.rbegin(); each != asked.rend(); ++each)
      if (each->action == action) return each->body;
    FAIL("nobody asked for " << action);
    return {};
  }

  std::vector<Asked> asked;  ///< In order.

 private:
  struct Reply {
    int status;
    std::string text;
  };
  std::mutex mutex_;
  std::map<std::string, std::deque<Reply>> replies_;
};

/// An account with keys; waiting takes no time and is counted.
struct TencentAccount {
  TencentService service;
  Unheard observer;
  Cancel cancel;
  std::chrono::milliseconds waited{0};
  provision::tencent::TencentCloud cloud{tools(), "http://127.0.0.1:1"};

 private:
  provision::cloud::ApiTools tools() {
    provision::cloud::ApiTools tools = tools_over(service, observer);
    tools.wait = [this](std::chrono::milliseconds time, const Cancel&) { waited += time; };
    tools.backoff = {};
    return tools;
  }
};

}  // namespace fastgpu::test
