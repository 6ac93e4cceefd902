#include "provision/cloud/caller.hpp"

#include <algorithm>

#include "base/fault_point.hpp"
#include "base/json_bounds.hpp"
#include "base/wait.hpp"
#include "provision/cloud/answer_form.hpp"

namespace fastgpu::provision::cloud {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

/// The time before their expiry at which credentials are renewed.
constexpr std::chrono::minutes kSpare{5};
constexpr std::chrono::hours kLongestWait{24};
/// The clock skew below which a refusal has another reason: clouds allow 5 to 15 minutes.
constexpr std::chrono::minutes kSmallSkew{2};
/// The most attempts of a call that is not essential. A throttled call is repeated all the same.
constexpr int kAttemptsForInessential = 3;
/// The size in bytes. A cloud's page is less than a tenth of it. Several may be read at once.
constexpr std::size_t kLargestAnswer = 16U << 20U;

milliseconds since(steady_clock::time_point start) {
  return duration_cast<milliseconds>(steady_clock::now() - start);
}

/// Returns the host of a URL: "ec2.us-east-1.amazonaws.com".
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(begin, url.find_first_of("/?", begin) - begin);
}

/// Returns true if a wrong clock of ours may be the reason for such a refusal.
bool may_be_skewed(FailureKind kind) {
  return kind == FailureKind::clock_skew || kind == FailureKind::credentials ||
         kind == FailureKind::expired;
}

steady_clock::time_point retry_deadline(const RetryLimit* limit, const Cancel& cancel) {
  return limit == nullptr ? steady_clock::time_point::max() : limit->deadline(cancel);
}

/// Returns the wait before the next attempt, shortened if the time limit comes first; absent if it
/// has passed, or passes before the time that the cloud asks for.
std::optional<milliseconds> within_limit(milliseconds pause, const http::Tried& tried,
                                         steady_clock::time_point deadline) {
  if (deadline == steady_clock::time_point::max()) return pause;
  const auto left = duration_cast<milliseconds>(deadline - steady_clock::now());
  if (left.count() <= 0 || tried.retry_after.value_or(milliseconds(0)) > left) return std::nullopt;
  return std::min(pause, left);
}

/// Returns "DescribeInstances in us-east-1".
std::string name_of(const CloudCall& call) {
  return call.action + (call.region.empty() ? "" : " in " + call.region);
}

Error lost_for_good(std::string_view cloud, const CloudCall& call, const Error& lost,
                    bool is_out_of_time) {
  const bool is_named = std::string_view(lost.what()).find(call.action) != std::string_view::npos;
  if (!is_out_of_time) return (is_named ? lost : lost.during(name_of(call))).during(cloud);
  const Error named = lost.during(cloud);
  return {ErrorKind::timeout, std::string(named.what()) +
                                  "; --timeout leaves no time for another attempt at " +
                                  name_of(call)};
}

}  // namespace

void wait_for(milliseconds duration, const Cancel& cancel) {
  wait_or_cancel(std::min<milliseconds>(duration, kLongestWait), cancel);
}

/// An answer, a refusal in an answer, or the reason why no answer came.
struct Caller::Attempt {
  std::optional<http::Response> response{};
  std::optional<Failure> failure{};
  std::optional<Error> lost{};
  /// The answer is the page of a host in between, which a repetition will not change.
  bool is_page = false;
  std::chrono::seconds ahead{0};  ///< The assumed lead of the cloud's clock when signing.

  bool is_worth_repeating(const CloudCall& call, int number) const {
    if (failure && failure->kind == FailureKind::throttled) return true;
    if (!call.is_repeatable || is_page) return false;
    if (failure && failure->kind == FailureKind::in_use && !call.outwaits_use) return false;
    if (!call.is_essential && number >= kAttemptsForInessential) return false;
    return lost || (failure && cloud::is_worth_repeating(failure->kind));
  }
};

credentials::Credentials Caller::credentials() {
  const std::lock_guard lock(mutex_);
  const auto fresh_until = system_clock::now() + kSpare;
  if (credentials_ && credentials_->expires && *credentials_->expires < fresh_until)
    credentials_.reset();
  if (!credentials_) credentials_ = tools_.find_credentials();
  return *credentials_;
}

bool Caller::has_credentials() try {
  credentials();
  return true;
} catch (const Error& e) {
  if (e.kind() == ErrorKind::denied) return false;
  throw;
}

std::chrono::seconds Caller::ahead() {
  const std::lock_guard lock(mutex_);
  return ahead_;
}

Caller::Clocks Caller::set_clock(const Attempt& made) {
  const auto offset = http::clock_offset(made.response->header("Date"), system_clock::now());
  if (!offset) return Clocks::unknown;
  if (std::chrono::abs(*offset - made.ahead) < kSmallSkew) return Clocks::agree;
  const std::lock_guard lock(mutex_);
  ahead_ = *offset;
  return Clocks::differ;
}

Caller::Attempt Caller::send(const CloudCall& call, const Cancel& cancel) {
  http::Request request = call.request;
  // A call that must not be repeated is not cut short, because its effect would then be unknown.
  if (call.is_repeatable && tools_.retry_limit != nullptr)
    request.limit = tools_.retry_limit->exchange_limit(request.limit, cancel);
  request.largest_answer = kLargestAnswer;
  Attempt made{.ahead = ahead()};
  const credentials::Credentials found = credentials();
  dialect_.sign(request, call, found.keys, system_clock::now() + made.ahead);
  try {
    made.response = tools_.http.send(request, cancel);
    fault_point("cloud:answered");
  } catch (const Error& e) {
    // Here this kind means that the answer is too long. In a cloud's error it would mean a lack of
    // stock or quota.
    if (e.kind() == ErrorKind::capacity)
      throw Error(ErrorKind::remote, e.during(dialect_.cloud()).what());
    if (e.kind() != ErrorKind::transient) throw;
    made.lost = e;
    return made;
  }
  const std::string what = "the response from " + host_of(request.url) + " to " + call.action;
  if (is_web_page(*made.response)) {
    made.is_page = true;
    made.lost = Error(ErrorKind::transient,
                      what +
                          " is HTML, not an API answer: is there a proxy or a login page in "
                          "between? (https_proxy and no_proxy select the proxy)");
    return made;
  }
  if (const std::string excess = json_excess(made.response->body); !excess.empty())
    throw Error(ErrorKind::remote, std::string(dialect_.cloud()) + ": " + what + " has " + excess +
                                       " (" + std::to_string(made.response->body.size()) +
                                       " bytes): it was not parsed");
  made.failure = dialect_.failure_in(*made.response);
  if (made.failure) {
    made.failure->cloud = dialect_.cloud();
    made.failure->credentials = found.source;
    made.failure->is_start = call.is_start;
  }
  if (made.failure && !made.failure->retry_after)
    if (const auto header = made.response->header("Retry-After"))
      made.failure->retry_after = http::parse_retry_after(*header, system_clock::now());
  if (!made.failure && !dialect_.is_answer(*made.response, call))
    made.lost =
        Error(ErrorKind::transient, what + " is not an answer of that service (" +
                                        std::to_string(made.response->body.size()) + " bytes)");
  if (!made.failure && !made.lost) accepted_ = true;
  return made;
}

Caller::Attempt Caller::watched(const CloudCall& call, int number, const Cancel& cancel) {
  const auto start = steady_clock::now();
  const Attempt made = send(call, cancel);
  CallReport report{.cloud = dialect_.cloud(), .call = call, .attempt = number};
  const std::string id = made.response ? dialect_.request_id(*made.response) : "";
  report.request_id = id;
  if (made.response) report.status = made.response->status;
  if (made.failure) report.failure = made.failure->code;
  if (made.lost) report.failure = made.lost->what();
  report.took = since(start);
  tools_.observer.attempted(report);
  return made;
}

Caller::Reply Caller::try_call(const CloudCall& call, const Cancel& cancel) {
  const auto start = steady_clock::now();
  const auto deadline = retry_deadline(tools_.retry_limit, cancel);
  bool has_set_clock = false;
  for (int number = 1;; ++number) {
    Attempt made = watched(call, number, cancel);
    if (!made.failure && !made.lost) return std::move(*made.response);
    if (made.failure && may_be_skewed(made.failure->kind)) {
      const Clocks clocks = set_clock(made);
      if (clocks == Clocks::differ && !has_set_clock) {
        has_set_clock = true;
        continue;
      }
      if (clocks == Clocks::agree && made.failure->kind == FailureKind::clock_skew)
        made.failure->kind = FailureKind::expired;
    }
    std::optional<milliseconds> pause;
    bool is_out_of_time = false;
    if (made.is_worth_repeating(call, number)) {
      http::Tried tried{.attempts = number, .elapsed = since(start)};
      if (made.failure) tried.retry_after = made.failure->retry_after;
      pause = http::next_wait(tools_.backoff, tried, tools_.random());
      const bool may_go_on = pause.has_value();
      if (pause) pause = within_limit(*pause, tried, deadline);
      is_out_of_time = may_go_on && !pause;
    }
    if (made.failure) made.failure->is_out_of_time = is_out_of_time;
    if (!pause && made.lost)
      throw lost_for_good(dialect_.cloud(), call, *made.lost, is_out_of_time);
    if (!pause) return std::move(*made.failure);
    tools_.wait(*pause, cancel);
    cancel.check();
  }
}

http::Response Caller::call(const CloudCall& call, std::string_view doing, const Cancel& cancel) {
  Reply reply = try_call(call, cancel);
  if (const auto* failure = std::get_if<Failure>(&reply)) throw error_of(*failure, doing);
  return std::move(std::get<http::Response>(reply));
}

}  // namespace fastgpu::provision::cloud
