#include "provision/cloud/caller.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <deque>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;

/// Answers in the order given; the last one for ever.
class ScriptedHttp final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    sent.push_back(request);
    const auto answer = script.front();
    if (script.size() > 1) script.pop_front();
    return answer();
  }
  std::deque<std::function<http::Response()>> script;
  std::vector<http::Request> sent;
};

/// Signs with the time, so that a test sees it; reads refusals as "kind: code".
class PlainDialect final : public Dialect {
 public:
  std::string_view cloud() const noexcept override { return "plain"; }
  void sign(http::Request& request, const CloudCall&, const signing::Keys& keys,
            std::chrono::system_clock::time_point now) const override {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
    http::set_header(request.headers, "When", std::to_string(seconds.count()));
    http::set_header(request.headers, "Who", keys.access_key);
  }
  std::optional<Failure> failure_in(const http::Response& response) const override {
    if (response.status == 200) return std::nullopt;
    Failure failure{.kind = FailureKind::invalid, .code = response.body};
    if (response.status == 429) failure.kind = FailureKind::throttled;
    if (response.status == 503) failure.kind = FailureKind::busy;
    if (response.status == 409) failure.kind = FailureKind::in_use;
    if (response.status == 401) failure.kind = FailureKind::credentials;
    if (response.body == "RequestExpired") failure.kind = FailureKind::clock_skew;
    return failure;
  }
  bool is_answer(const http::Response& response, const CloudCall&) const override {
    return response.body != "<other>";
  }
  std::string request_id(const http::Response&) const override { return "request-1"; }
};

class Reports final : public CallObserver {
 public:
  void attempted(const CallReport& report) override {
    attempts.push_back(report.attempt);
    failures.emplace_back(report.failure);
  }
  std::vector<int> attempts;
  std::vector<std::string> failures;
};

struct CallerBench {
  ScriptedHttp http;
  Reports reports;
  PlainDialect dialect;
  std::vector<std::chrono::milliseconds> waits;
  int searches = 0;
  std::optional<std::chrono::system_clock::time_point> expires;
  Cancel cancel;
  RetryLimit retry_limit{cancel};
  Caller caller{
      {.http = http,
       .observer = reports,
       .find_credentials =
           [this] {
             credentials::Credentials found;
             found.keys.access_key = "key" + std::to_string(++searches);
             found.expires = expires;
             found.source = "PLAIN_KEY";
             return found;
           },
       .wait = [this](std::chrono::milliseconds pause, const Cancel&) { waits.push_back(pause); },
       .random = [] { return 0.5; },
       .backoff = {},
       .retry_limit = &retry_limit},
      dialect};

  void answers(std::initializer_list<int> statuses) {
    for (const int status : statuses)
      http.script.push_back([status] { return http::Response{.status = status, .body = "Code"}; });
  }
  void is_lost() {
    http.script.push_back(
        []() -> http::Response { throw Error(ErrorKind::transient, "connection reset"); });
  }
};

const CloudCall kCall{.service = "s", .action = "Do", .region = "r"};

TEST_CASE("an answer is passed on, and one attempt is told of") {
  CallerBench bench;
  bench.answers({200});
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).status == 200);
  CHECK(bench.reports.attempts == std::vector<int>{1});
  CHECK(bench.waits.empty());
}

TEST_CASE(
    "throttling, trouble of the cloud and lost connections are tried again after a wait, signed "
    "anew") {
  CallerBench bench;
  bench.answers({429, 503});
  bench.is_lost();
  bench.answers({200});
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).status == 200);
  CHECK(bench.reports.attempts == std::vector<int>{1, 2, 3, 4});
  CHECK(bench.reports.failures[2] == "connection reset");
  CHECK(bench.waits.size() == 3);
}

TEST_CASE("a resource in use is tried again, except for a call whose caller waits by itself") {
  CallerBench bench;
  bench.answers({409, 200});
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).status == 200);
  CallerBench impatient;
  impatient.answers({503, 409, 200});
  CloudCall removal = kCall;
  removal.outwaits_use = false;
  const Error e = failure_of([&] { impatient.caller.call(removal, "doing", impatient.cancel); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(impatient.http.sent.size() == 2);
}

TEST_CASE(
    "a success that the service has not sent is no answer: it may have done what it was told") {
  CallerBench bench;
  const auto from_between = [] { return http::Response{.status = 200, .body = "<other>"}; };
  bench.http.script.emplace_back(from_between);
  bench.answers({200});
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).body == "Code");
  CHECK(bench.reports.failures[0].find("not an answer of that service (7 bytes)") !=
        std::string::npos);
  bench.http.script.assign({from_between});
  CloudCall once = kCall;
  once.is_repeatable = false;
  const Error e = failure_of([&] { bench.caller.call(once, "doing", bench.cancel); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(mentions(e, "plain: the response from "));
}

TEST_CASE("we are known to be accepted once a call was answered as wished, not once refused") {
  CallerBench bench;
  bench.answers({401, 200});
  bench.caller.try_call(kCall, bench.cancel);
  CHECK_FALSE(bench.caller.has_been_accepted());
  bench.caller.try_call(kCall, bench.cancel);
  CHECK(bench.caller.has_been_accepted());
}

TEST_CASE("a wait that the cloud asks for is kept") {
  CallerBench bench;
  bench.http.script.push_back([] {
    return http::Response{.status = 429, .headers = {{"Retry-After", "7"}}, .body = "Slow"};
  });
  bench.answers({200});
  bench.caller.call(kCall, "doing", bench.cancel);
  REQUIRE(bench.waits.size() == 1);
  CHECK(bench.waits[0] >= 7s);
}

TEST_CASE(
    "what would be made twice is not repeated when its answer is lost, but is when the cloud did "
    "nothing") {
  CloudCall call = kCall;
  call.is_repeatable = false;
  CallerBench lost;
  lost.is_lost();
  const Error unknown = failure_of([&] { lost.caller.call(call, "doing", lost.cancel); });
  CHECK(std::string(unknown.what()) == "plain: Do in r: connection reset");
  CHECK(unknown.kind() == ErrorKind::transient);
  CHECK(lost.http.sent.size() == 1);
  CallerBench throttled;
  throttled.answers({429, 200});
  CHECK(throttled.caller.call(call, "doing", throttled.cancel).status == 200);
}

TEST_CASE("a refusal that nothing will change is not repeated, and says what was being done") {
  CallerBench bench;
  bench.answers({400});
  const Error refused = failure_of([&] { bench.caller.call(kCall, "making tea", bench.cancel); });
  CHECK(refused.kind() == ErrorKind::remote);
  CHECK(mentions(refused, "making tea: refused: Code"));
  CHECK(bench.http.sent.size() == 1);
}

TEST_CASE("what one can do without is waited for less, but its turn is waited for all the same") {
  CloudCall call = kCall;
  call.is_essential = false;
  CallerBench broken;
  broken.answers({503});
  CHECK(failure_of([&] { broken.caller.call(call, "doing", broken.cancel); }).kind() ==
        ErrorKind::transient);
  CHECK(broken.http.sent.size() == 3);
  CallerBench throttled;
  throttled.answers({429, 429, 429, 429, 200});
  CHECK(throttled.caller.call(call, "doing", throttled.cancel).status == 200);
}

TEST_CASE("a call that was on its way while another one set the clock right is signed anew, too") {
  CallerBench bench;
  const auto skewed = [] {
    return http::Response{
        .status = 401, .headers = {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}, .body = "Skew"};
  };
  bench.http.script.push_back([&] {
    bench.caller.call(kCall, "setting the clock right", bench.cancel);
    return skewed();
  });
  bench.http.script.push_back(skewed);
  bench.answers({200});
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).status == 200);
  CHECK(bench.http.sent.size() == 4);
}

TEST_CASE("an answer that is too long is one of the other side's faults, not a want of machines") {
  CallerBench bench;
  bench.http.script.push_back(
      []() -> http::Response { throw Error(ErrorKind::capacity, "the answer is longer"); });
  const Error refused = failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); });
  CHECK(refused.kind() == ErrorKind::remote);
  CHECK(bench.http.sent.front().largest_answer == 16U << 20U);
}

TEST_CASE("a web page in place of an answer is named at once and not asked for again") {
  for (const http::Response& page :
       {http::Response{.status = 200, .body = "<!DOCTYPE html><title>Log in"},
        http::Response{.status = 200, .body = "\n <HTML lang=en>"},
        http::Response{.status = 200, .body = "\xEF\xBB\xBF<head>"},
        http::Response{.status = 511, .body = "Log in"}}) {
    CallerBench bench;
    bench.http.script.push_back([&] { return page; });
    const Error e = failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); });
    CHECK(mentions(e, "is HTML, not an API answer"));
    CHECK(mentions(e, "proxy"));
    CHECK(bench.http.sent.size() == 1);
    CHECK(bench.waits.empty());
  }
}

TEST_CASE("an answer is none the less one for a wrong type on it") {
  CallerBench bench;
  bench.http.script.push_back([] {
    return http::Response{.status = 200,
                          .headers = {{"Content-Type", "text/html"}},
                          .body = "<?xml version='1.0'?><RunInstancesResponse/>"};
  });
  CHECK(bench.caller.call(kCall, "doing", bench.cancel).status == 200);
}

TEST_CASE("JSON that is deeper or longer than any answer is not read") {
  const std::string deep = R"({"a":)" + std::string(3'000'000, '[');
  std::string wide = "[";
  for (int i = 0; i < 600'000; ++i)
    wide += "[],";
  for (const std::string& body : {deep, wide, std::string(1'000'000, '{')}) {
    CallerBench bench;
    bench.http.script.push_back([&] { return http::Response{.status = 200, .body = body}; });
    const Error e = failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "plain: "));
    CHECK(mentions(e, "it was not parsed"));
    CHECK(bench.http.sent.size() == 1);
  }
}

TEST_CASE("attempts come to an end") {
  CallerBench bench;
  bench.answers({503});
  const Error busy = failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); });
  CHECK(busy.kind() == ErrorKind::transient);
  CHECK(bench.http.sent.size() == 8);
}

TEST_CASE("where the cloud's clock differs from ours, its time is taken over once") {
  CallerBench bench;
  bench.http.script.push_back([] {
    return http::Response{
        .status = 401, .headers = {{"Date", "Wed, 01 Jan 2031 00:00:00 GMT"}}, .body = "Expired"};
  });
  CHECK(failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); }).kind() ==
        ErrorKind::denied);
  REQUIRE(bench.http.sent.size() == 2);
  const auto when = [&](std::size_t n) {
    return std::stoll(std::string(*http::find_header(bench.http.sent[n].headers, "When")));
  };
  CHECK(when(1) - when(0) > 3600LL * 24 * 365);
  CHECK(when(1) >= 1924992000 - 10);  // 2031 began then.
}

/// Returns the date header of an answer that was sent now.
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[40];
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return text;
}

TEST_CASE("a request that expired although the clocks agree had credentials that have expired") {
  CallerBench bench;
  bench.http.script.push_back([] {
    return http::Response{
        .status = 400, .headers = {{"Date", date_now()}}, .body = "RequestExpired"};
  });
  const Error e = failure_of([&] { bench.caller.call(kCall, "asking", bench.cancel); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()) ==
        "asking: the credentials have expired: RequestExpired; the credentials are from PLAIN_KEY: "
        "renew them there");
  CHECK(bench.http.sent.size() == 1);
  CallerBench untold;
  untold.http.script.push_back(
      [] { return http::Response{.status = 400, .body = "RequestExpired"}; });
  CHECK(mentions(failure_of([&] { untold.caller.call(kCall, "asking", untold.cancel); }),
                 "the clocks differ"));
}

TEST_CASE("refused credentials are named by their source, with what to do") {
  CallerBench bench;
  bench.answers({401});
  const Error e = failure_of([&] { bench.caller.call(kCall, "asking", bench.cancel); });
  CHECK(
      std::string(e.what()) ==
      "asking: credentials refused: Code; the credentials are from PLAIN_KEY: replace them there");
  const Error unknown = error_of({.kind = FailureKind::credentials, .code = "Code"}, "asking");
  CHECK(mentions(unknown, "`fastgpu get providers` shows where each cloud reads its credentials"));
}

TEST_CASE("a call is not repeated beyond the command's time limit") {
  CallerBench late;
  late.answers({429});
  {
    const RetryDeadline passed(late.retry_limit, std::chrono::steady_clock::now());
    const Error e = failure_of([&] { late.caller.call(kCall, "launching", late.cancel); });
    CHECK(e.kind() == ErrorKind::timeout);
    CHECK(mentions(e, "launching: too many calls: Code; --timeout leaves no time"));
    CHECK(late.http.sent.size() == 1);
    late.http.script.clear();
    late.is_lost();
    CHECK(failure_of([&] { late.caller.call(kCall, "launching", late.cancel); }).kind() ==
          ErrorKind::timeout);
  }
  CHECK(failure_of([&] { late.caller.call(kCall, "launching", late.cancel); }).kind() ==
        ErrorKind::transient);
  CallerBench asked;
  asked.http.script.push_back([] {
    return http::Response{.status = 429, .headers = {{"Retry-After", "60"}}, .body = "Slow"};
  });
  const RetryDeadline soon(asked.retry_limit, std::chrono::steady_clock::now() + 20s);
  CHECK(failure_of([&] { asked.caller.call(kCall, "launching", asked.cancel); }).kind() ==
        ErrorKind::timeout);
  CallerBench patient;
  patient.answers({503, 503, 200});
  const RetryDeadline later(patient.retry_limit, std::chrono::steady_clock::now() + 1h);
  CHECK(patient.caller.call(kCall, "launching", patient.cancel).status == 200);
}

TEST_CASE(
    "one exchange waits no longer than the command has time, unless it must not be repeated") {
  CallerBench bench;
  bench.answers({200});
  const auto limit_of = [&](const CloudCall& call) {
    bench.caller.call(call, "asking", bench.cancel);
    return bench.http.sent.back().limit;
  };
  CHECK(limit_of(kCall) == 30s);
  const RetryDeadline soon(bench.retry_limit, std::chrono::steady_clock::now() + 20s);
  CHECK(limit_of(kCall) <= 20s);
  const CloudCall launch{.service = "s", .action = "Launch", .region = "r", .is_repeatable = false};
  CHECK(limit_of(launch) == 30s);
  const RetryDeadline passed(bench.retry_limit, std::chrono::steady_clock::now());
  CHECK(limit_of(kCall) == 10s);
}

TEST_CASE("a call that had no answer in the command's time is named") {
  CallerBench bench;
  bench.is_lost();
  const RetryDeadline passed(bench.retry_limit, std::chrono::steady_clock::now());
  const Error e = failure_of([&] { bench.caller.call(kCall, "asking", bench.cancel); });
  CHECK(std::string(e.what()) ==
        "plain: connection reset; --timeout leaves no time for another attempt at Do in r");
}

TEST_CASE("the command's time limit does not hold for calls that its stop request does not end") {
  CallerBench bench;
  bench.answers({429, 429, 200});
  const RetryDeadline passed(bench.retry_limit, std::chrono::steady_clock::now());
  const Cancel never;
  CHECK(bench.caller.call(kCall, "removing", never).status == 200);
}

TEST_CASE("credentials are looked for once, and again before they expire") {
  CallerBench bench;
  bench.answers({200});
  bench.caller.call(kCall, "doing", bench.cancel);
  bench.caller.call(kCall, "doing", bench.cancel);
  CHECK(bench.searches == 1);
  CallerBench expiring;
  expiring.answers({200});
  expiring.expires = std::chrono::system_clock::now() + 1min;
  expiring.caller.call(kCall, "doing", expiring.cancel);
  expiring.caller.call(kCall, "doing", expiring.cancel);
  CHECK(expiring.searches == 2);
}

TEST_CASE("a request to stop ends the attempts") {
  CallerBench bench;
  bench.answers({503});
  bench.cancel.request();
  CHECK(failure_of([&] { bench.caller.call(kCall, "doing", bench.cancel); }).kind() ==
        ErrorKind::interrupted);
}

TEST_CASE("a refusal for want of stock is short where the code says all") {
  const Failure full{.kind = FailureKind::stock,
                     .cloud = "aws",
                     .code = "InsufficientInstanceCapacity",
                     .message = "We currently do not have sufficient capacity in this zone.",
                     .request_id = "r-1"};
  CHECK(std::string(error_of(full, "launching").what()) ==
        "launching: no stock: InsufficientInstanceCapacity; another zone or type may have some");
  Failure odd = full;
  odd.code = "Ecs.0319";
  CHECK(mentions(error_of(odd, "launching"), "sufficient capacity in this zone. (request r-1)"));
}

TEST_CASE("a refusal for want of quota says where it is raised") {
  const std::string told =
      error_of({.kind = FailureKind::quota, .cloud = "aws", .code = "VcpuLimitExceeded"},
               "launching")
          .what();
  CHECK(told.find("https://console.aws.amazon.com/servicequotas") != std::string::npos);
  const std::string stock =
      error_of({.kind = FailureKind::stock, .cloud = "aws", .code = "None"}, "launching").what();
  CHECK(stock.find("https://") == std::string::npos);
}

TEST_CASE("a refusal because of the account says what its owner does, and where") {
  struct Row {
    const char* cloud;
    const char* page;
  };
  constexpr Row kRows[] = {{"aws", "https://console.aws.amazon.com/billing"},
                           {"alibaba", "https://usercenter2.aliyun.com"},
                           {"huawei", "https://account.huaweicloud.com"},
                           {"tencent", "https://console.cloud.tencent.com/expense"}};
  for (const Row& row : kRows) {
    CAPTURE(row.cloud);
    const Error e = error_of({.kind = FailureKind::money, .cloud = row.cloud, .code = "X"}, "a");
    CHECK(e.kind() == ErrorKind::denied);
    CHECK(mentions(e, "the account cannot pay: X; pay what is due, or top up the account: see "));
    CHECK(mentions(e, row.page));
  }
  const Error unproved =
      error_of({.kind = FailureKind::account, .code = "RealNameAuthenticationError"}, "a");
  CHECK(unproved.kind() == ErrorKind::denied);
  CHECK(mentions(unproved, "the account is restricted: RealNameAuthenticationError; its owner"));
}

TEST_CASE("a lack of stock for machines that exist does not advise another place") {
  const Error e =
      error_of({.kind = FailureKind::stock, .code = "SoldOut", .is_start = true}, "starting");
  CHECK(std::string(e.what()) ==
        "starting: no stock: SoldOut; try again later: the machines stay stopped, and no other "
        "place can start them");
}

}  // namespace
}  // namespace fastgpu::provision::cloud
