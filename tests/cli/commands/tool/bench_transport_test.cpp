#include "cli/commands/tool/bench_transport.hpp"

#include <doctest/doctest.h>

#include "cli/commands/tool/bench_comm_report.hpp"
#include "support/bench_results.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using Variables = std::vector<std::string>;

const std::string kTwoInterfaces = "FASTGPU_COMM_INTERFACE=eth0,eth1";

TEST_SUITE_BEGIN("cli/bench_transport");

TEST_CASE("transports are a list, in the order in which they are measured") {
  CHECK(parse_transports("").empty());
  CHECK(parse_transports("tcp") == std::vector{BenchTransport::tcp});
  CHECK(parse_transports("hybrid,fabric") ==
        std::vector{BenchTransport::hybrid, BenchTransport::fabric});
}

TEST_CASE("an unknown transport is refused with the list, and one that is there twice") {
  for (const char* wrong : {"rdma", "tcp,", ",tcp", "tcp,rdma"}) {
    CAPTURE(wrong);
    const Error e = failure_of([&] { parse_transports(wrong); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "is none of fabric, tcp, hybrid"));
  }
  CHECK(mentions(failure_of([] { parse_transports("tcp,tcp"); }), "'tcp' twice"));
  test::Session session;
  CHECK(mentions(failure_of([&] {
                   session.run({"bench", "comm", "demo", "--transport", "infiniband"});
                 }),
                 "--transport 'infiniband' is none of fabric, tcp, hybrid"));
}

TEST_CASE("each transport is chosen by the library's variables, beside those of the user") {
  CHECK(variables_for(BenchTransport::fabric, {"A=1"}) ==
        Variables{"A=1", "FASTGPU_COMM_TRANSPORT=auto", "FASTGPU_COMM_REQUIRE=fabric"});
  CHECK(variables_for(BenchTransport::tcp, {}) == Variables{"FASTGPU_COMM_TRANSPORT=tcp"});
  CHECK(variables_for(BenchTransport::tcp, {kTwoInterfaces}) ==
        Variables{"FASTGPU_COMM_TRANSPORT=tcp", "FASTGPU_COMM_INTERFACE=eth0"});
  CHECK(variables_for(BenchTransport::hybrid, {kTwoInterfaces}) ==
        Variables{kTwoInterfaces, "FASTGPU_COMM_TRANSPORT=tcp"});
  CHECK(variables_for(BenchTransport::hybrid, {"FASTGPU_COMM_FABRIC=net"}) ==
        Variables{"FASTGPU_COMM_FABRIC=net", "FASTGPU_COMM_TRANSPORT=hybrid",
                  "FASTGPU_COMM_REQUIRE=fabric"});
}

TEST_CASE("hybrid needs a fabric or several interfaces, and no variable may contradict it") {
  const Variables neither{"FASTGPU_COMM_INTERFACE=eth0", "FASTGPU_COMM_FABRIC=off"};
  CHECK(mentions(failure_of([&] { variables_for(BenchTransport::hybrid, neither); }),
                 "--transport hybrid needs a fabric, or several interfaces "
                 "[-e FASTGPU_COMM_INTERFACE=eth0,eth1]: omit -e FASTGPU_COMM_FABRIC=off"));
  for (const std::string name : {"FASTGPU_COMM_TRANSPORT", "FASTGPU_COMM_REQUIRE"})
    CHECK(mentions(failure_of([&] { variables_for(BenchTransport::tcp, {name + "=any"}); }),
                   "omit -e " + name));
  CHECK(mentions(
      failure_of([] { variables_for(BenchTransport::fabric, {"FASTGPU_COMM_FABRIC=off"}); }),
      "--transport fabric needs a fabric"));
}

TEST_CASE("a fabric that is missing is said to be needed by --transport, with what does without") {
  constexpr std::string_view kWish = "FASTGPU_COMM_REQUIRE is 'fabric'";
  const std::string reason = std::string(kWish) + ", but node-0 has no RDMA device";
  CHECK(lack_of_fabric(BenchTransport::fabric, reason, kWish) ==
        "--transport fabric needs a fabric, but node-0 has no RDMA device; name a fabric in "
        "software [-e FASTGPU_COMM_FABRIC=net]");
  CHECK(lack_of_fabric(BenchTransport::hybrid, reason, kWish) ==
        "--transport hybrid needs a fabric, but node-0 has no RDMA device; name a fabric in "
        "software [-e FASTGPU_COMM_FABRIC=net], or several interfaces of TCP [-e "
        "FASTGPU_COMM_INTERFACE=eth0,eth1]");
  CHECK(lack_of_fabric(BenchTransport::fabric, "a quota is used up", kWish)
            .starts_with("--transport fabric needs a fabric: a quota is used up; "));
}

TEST_CASE("results of several transports are told apart in the table, the averages and the JSON") {
  BenchReport report{.cluster = "demo", .job = "bench-comm-1", .results = {}};
  for (const char* transport : {"fabric", "tcp"})
    for (comm::bench::BenchResult result : test::some_results()) {
      result.transport = transport;
      report.results.push_back(result);
    }
  report.jobs = {"bench-comm-1", "bench-comm-2"};
  const std::string text = text_of(report, Detail::usual, {}).str();
  CHECK(text.starts_with("TRANSPORT  COLLECTIVE  TYPE"));
  CHECK(text.find("\ntcp        all_reduce  float32") != std::string::npos);
  CHECK(text.find("average bus bandwidth of all_reduce float32 by fabric: ") != std::string::npos);
  CHECK(text.find("TRANSPORT  MODEL") != std::string::npos);
  const View view = view_of(report);
  CHECK(view.root["jobs"].size() == 2);
  CHECK(view.root["results"][0]["transport"] == "fabric");
  CHECK(view.root["results"][7]["transport"] == "tcp");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
