#include "http/curl_client.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <thread>

#include "support/failure.hpp"
#include "support/http_server.hpp"

namespace fastgpu::http {
namespace {

using namespace std::chrono_literals;
using test::AfterAnswer;
using test::failure_of;
using test::HttpServer;
using test::HttpVisit;
using test::mentions;

struct Sending {
  CurlClient client{CurlSettings{}};
  Cancel cancel;

  Response get(const HttpServer& server) { return client.send({.url = server.url()}, cancel); }
};

/// Answers each request with its own head and body.
AfterAnswer echo(HttpVisit& visit) {
  visit.answer(visit.head + "\r\n" + visit.body);
  return AfterAnswer::keep;
}

TEST_SUITE_BEGIN("http/curl_client");

TEST_CASE_FIXTURE(Sending, "a request goes out as it is given, and nothing is added but lengths") {
  const HttpServer server(echo);
  const Response got = client.send({.method = "POST",
                                    .url = server.url("/a/../b?x=%2F"),
                                    .headers = {{"Host", "ecs.cn-hangzhou.aliyuncs.com"},
                                                {"x-acs-Action", "RunInstances"},
                                                {"X-Empty", ""}},
                                    .body = "{}"},
                                   cancel);
  CHECK(got.status == 200);
  CHECK(got.body ==
        "POST /a/../b?x=%2F HTTP/1.1\r\nHost: ecs.cn-hangzhou.aliyuncs.com\r\n"
        "x-acs-Action: RunInstances\r\nX-Empty:\r\nContent-Length: 2\r\n\r\n{}");
}

TEST_CASE_FIXTURE(Sending,
                  "each method is sent by its name, with a length where it may have a body") {
  const HttpServer server(echo);
  const std::string host = " / HTTP/1.1\r\nHost: " + server.authority() + "\r\n";
  const auto sent = [&](const std::string& method) {
    return client.send({.method = method, .url = server.url()}, cancel).body;
  };
  CHECK(sent("GET") == "GET" + host + "\r\n");
  CHECK(sent("POST") == "POST" + host + "Content-Length: 0\r\n\r\n");
  CHECK(sent("PUT") == "PUT" + host + "Content-Length: 0\r\n\r\n");
  CHECK(sent("DELETE") == "DELETE" + host + "Content-Length: 0\r\n\r\n");
}

TEST_CASE_FIXTURE(Sending,
                  "any status is an answer, with its headers and body; nothing is followed") {
  const HttpServer server([](HttpVisit& visit) {
    visit.answer("away", "302 Found",
                 "Location: /other\r\nRetry-After:  7 \r\nX-A: 1\r\nx-a: 2\r\n");
    return AfterAnswer::keep;
  });
  const Response got = get(server);
  CHECK(got.status == 302);
  CHECK(got.body == "away");
  CHECK(got.header("retry-AFTER") == "7");
  CHECK(got.header("x-a") == "1");
  CHECK_FALSE(got.header("x-b"));
}

TEST_CASE_FIXTURE(Sending, "headers of a provisional answer are not those of the answer") {
  const HttpServer server([](HttpVisit& visit) {
    visit.write("HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n");
    visit.answer("", "201 Created", "X-Late: 2\r\n");
    return AfterAnswer::keep;
  });
  const Response got = get(server);
  CHECK(got.status == 201);
  CHECK_FALSE(got.header("X-Early"));
  CHECK(got.header("X-Late") == "2");
}

TEST_CASE_FIXTURE(Sending, "requests one after the other go by one connection") {
  const HttpServer server(echo);
  for (int i = 0; i < 20; ++i)
    CHECK(client.send({.method = "POST", .url = server.url()}, cancel).status == 200);
  std::jthread([&] { get(server); }).join();
  CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(Sending,
                  "threads send by one client, each its own request, by no more connections") {
  constexpr std::size_t kThreads = 8;
  const HttpServer server(echo);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, body = std::string(1000 * i + 1, 'x')] {
        for (int round = 0; round < 20; ++round) {
          const Response got =
              client.send({.method = "PUT", .url = server.url(), .body = body}, cancel);
          if (!got.body.ends_with("\r\n\r\n" + body)) ++wrong;
        }
      });
  }
  CHECK(wrong == 0);
  CHECK(server.connections() <= kThreads);
}

TEST_CASE_FIXTURE(Sending, "a kept connection that the server has closed is not an error") {
  std::atomic<int> requests = 0;
  const HttpServer server([&](HttpVisit& visit) {
    ++requests;
    visit.answer("one");
    return AfterAnswer::close;
  });
  for (int i = 0; i < 3; ++i) {
    CHECK(get(server).body == "one");
  }
  CHECK(requests == 3);
}

TEST_CASE_FIXTURE(Sending, "a request that changes something is never sent twice by itself") {
  std::atomic<int> requests = 0;
  const HttpServer server([&](HttpVisit& visit) {
    if (requests++ == 1) {
      visit.reset();
      return AfterAnswer::close;
    }
    return echo(visit);
  });
  const Request request{.method = "POST", .url = server.url()};
  CHECK(client.send(request, cancel).status == 200);

  const Error e = failure_of([&] { client.send(request, cancel); });

  CHECK(e.kind() == ErrorKind::transient);
  CHECK(requests == 2);
}

TEST_CASE_FIXTURE(Sending, "answers that break off are worth another try") {
  const std::map<std::string, HttpServer::Handler> faults = {
      {"closed", [](HttpVisit&) { return AfterAnswer::close; }},
      {"reset",
       [](HttpVisit& visit) {
         visit.reset();
         return AfterAnswer::close;
       }},
      {"half the headers",
       [](HttpVisit& visit) {
         visit.write("HTTP/1.1 200 OK\r\nContent-Le");
         visit.reset();
         return AfterAnswer::close;
       }},
      {"half a body",
       [](HttpVisit& visit) {
         visit.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
         return AfterAnswer::close;
       }},
      {"half a chunk",
       [](HttpVisit& visit) {
         visit.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello");
         return AfterAnswer::close;
       }},
      {"no HTTP",
       [](HttpVisit& visit) {
         visit.write("\x01\x02 hello, who is there?\n");
         return AfterAnswer::close;
       }},
      {"a length that is none", [](HttpVisit& visit) {
         visit.write("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello");
         return AfterAnswer::close;
       }}};
  for (const auto& [name, fault] : faults) {
    CAPTURE(name);
    const HttpServer server(fault);
    const Error e = failure_of([&] { get(server); });
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(mentions(e, server.authority() + ": "));
  }
}

TEST_CASE_FIXTURE(Sending, "a server that says nothing, or drips, is given up after the limit") {
  const HttpServer silent([](HttpVisit& visit) {
    visit.wait_until_client_leaves();
    return AfterAnswer::close;
  });
  const HttpServer dripping([](HttpVisit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (visit.write("x"))
      std::this_thread::sleep_for(1ms);
    return AfterAnswer::close;
  });
  for (const HttpServer* server : {&silent, &dripping}) {
    const Error e =
        failure_of([&] { client.send({.url = server->url(), .limit = 100ms}, cancel); });
    CHECK(e.kind() == ErrorKind::transient);
    CHECK(mentions(e, "no complete answer within 100ms"));
  }
}

TEST_CASE_FIXTURE(Sending, "where a silence is given, so long a one ends it, before the limit") {
  const HttpServer silent([](HttpVisit& visit) {
    visit.wait_until_client_leaves();
    return AfterAnswer::close;
  });
  const HttpServer stopping([](HttpVisit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx");
    visit.wait_until_client_leaves();
    return AfterAnswer::close;
  });
  for (const HttpServer* server : {&silent, &stopping}) {
    const Error e = failure_of(
        [&] { client.send({.url = server->url(), .limit = 1h, .silence = 1s}, cancel); });
    CHECK(e.kind() == ErrorKind::timeout);
    CHECK(mentions(e, "no data for 1s"));
  }
}

TEST_CASE_FIXTURE(Sending, "an answer longer than the largest is refused, however it is sent") {
  const HttpServer endless([](HttpVisit& visit) {
    visit.write("HTTP/1.1 200 OK\r\n\r\n");
    while (visit.write(std::string(10'000, 'x')))
      continue;
    return AfterAnswer::close;
  });
  const HttpServer headers([](HttpVisit& visit) {
    std::string all = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 100'000; ++i)
      all += "X-Header-" + std::to_string(i) + ": some value\r\n";
    visit.write(all + "Content-Length: 0\r\n\r\n");
    return AfterAnswer::close;
  });
  for (const HttpServer* server : {&endless, &headers}) {
    const Error e =
        failure_of([&] { client.send({.url = server->url(), .largest_answer = 100'000}, cancel); });
    CHECK(e.kind() == ErrorKind::capacity);
  }
  const HttpServer exact(echo);
  const std::size_t size = get(exact).body.size();
  CHECK_NOTHROW(client.send({.url = exact.url(), .largest_answer = size}, cancel));
  CHECK_THROWS_AS(client.send({.url = exact.url(), .largest_answer = size - 1}, cancel), Error);
}

TEST_CASE_FIXTURE(Sending, "a request to stop ends a request in the middle of its answer") {
  const HttpServer server([&](HttpVisit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    cancel.request();
    visit.wait_until_client_leaves();
    return AfterAnswer::close;
  });
  CHECK(failure_of([&] { client.send({.url = server.url(), .limit = 1h}, cancel); }).kind() ==
        ErrorKind::interrupted);
  CHECK(failure_of([&] { get(server); }).kind() == ErrorKind::interrupted);
  CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(Sending, "a body that is taken in pieces may be of any length, and is not kept") {
  const HttpServer server([](HttpVisit& visit) {
    visit.answer(std::string(1 << 20, 'x'));
    return AfterAnswer::keep;
  });
  std::size_t taken = 0;
  const Response got =
      client.send({.url = server.url(),
                   .largest_answer = 10,
                   .on_data = [&](std::string_view bytes) { taken += bytes.size(); }},
                  cancel);
  CHECK(got.body.empty());
  CHECK(taken == 1 << 20);
  const Error e = failure_of([&] {
    client.send({.url = server.url(),
                 .on_data = [](std::string_view) { throw Error(ErrorKind::remote, "enough"); }},
                cancel);
  });
  CHECK(std::string(e.what()) == "enough");
}

TEST_CASE_FIXTURE(Sending, "where nobody listens there is no connection") {
  std::string url;
  {
    const HttpServer gone(echo);
    url = gone.url();
  }
  const Error e = failure_of([&] { client.send({.url = url}, cancel); });
  CHECK(e.kind() == ErrorKind::transient);
  CHECK(mentions(e, "Connection refused"));
}

TEST_CASE_FIXTURE(Sending, "a failure reports whether the request may have reached the server") {
  std::string nowhere;
  {
    const HttpServer gone(echo);
    nowhere = gone.url();
  }
  const HttpServer resetting([](HttpVisit& visit) {
    visit.reset();
    return AfterAnswer::close;
  });
  CHECK_THROWS_AS(client.send({.method = "POST", .url = nowhere}, cancel), RequestNotSent);
  const std::string url = resetting.url();
  try {
    client.send({.method = "POST", .url = url}, cancel);
    FAIL("the connection was reset");
  } catch (const RequestNotSent&) {
    FAIL("the request was sent");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::transient);
  }
}

TEST_CASE_FIXTURE(Sending, "what cannot be sent is refused before anything is sent") {
  const HttpServer server(echo);
  for (const Header& header : {Header{"X", "a\r\nHost: b"}, Header{"X Y", "a"}, Header{"", "a"},
                               Header{"X", std::string("a\0b", 3)}})
    CHECK(failure_of([&] {
            client.send({.url = server.url(), .headers = {header}}, cancel);
          }).kind() == ErrorKind::usage);
  CHECK(failure_of([&] { client.send({.url = "gopher://h/"}, cancel); }).kind() ==
        ErrorKind::usage);
  CHECK(failure_of([&] { client.send({.url = server.url("/a b")}, cancel); }).kind() ==
        ErrorKind::usage);
  CHECK(server.connections() == 0);
}

TEST_CASE("the environment's proxy is used, but not where no_proxy or the request says so") {
  const HttpServer proxy(echo);
  const HttpServer server([](HttpVisit& visit) {
    visit.answer("direct");
    return AfterAnswer::keep;
  });
  std::map<std::string, std::string> variables = {{"http_proxy", "http://" + proxy.authority()}};
  const Environment environment = [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  const Cancel cancel;
  CurlClient client(curl_settings(environment));

  const std::string far = client.send({.url = "http://ecs.invalid/x"}, cancel).body;
  CHECK(far.starts_with("GET http://ecs.invalid/x HTTP/1.1\r\nHost: ecs.invalid\r\n"));
  CHECK(client.send({.url = server.url(), .direct = true}, cancel).body == "direct");
  variables["no_proxy"] = "127.0.0.1";
  CHECK(client.send({.url = server.url()}, cancel).body == "direct");
  variables = {{"HTTP_PROXY", "http://" + proxy.authority()}};
  CHECK(client.send({.url = server.url()}, cancel).body == "direct");
  variables = {{"http_proxy", "nonsense://user:hunter2@x"}};
  const Error e = failure_of([&] { client.send({.url = server.url()}, cancel); });
  CHECK_FALSE(mentions(e, "hunter2"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::http
