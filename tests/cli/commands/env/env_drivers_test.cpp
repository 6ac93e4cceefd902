#include <doctest/doctest.h>

#include "base/json.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using test::Session;

nlohmann::json shown(const std::vector<std::string>& words) {
  Session session;
  REQUIRE(session.run(words) == 0);
  return nlohmann::json::parse(session.out.text);
}

TEST_SUITE_BEGIN("cli env drivers");

TEST_CASE("the matrix is shown with its date, as a whole or for one CUDA") {
  const auto whole = shown({"env", "matrix", "-o", "json"});
  CHECK(whole["schema"] == "fastgpu.env-matrix/1");
  CHECK(whole["date"].get<std::string>().size() == 10);
  CHECK(whole["cuda"].size() > 10);

  const auto part = shown({"env", "matrix", "--cuda", "12.4", "-o", "json"});
  REQUIRE(part["cuda"].size() == 1);
  CHECK(part["cuda"][0]["least_driver"] == "550.54.14");
  CHECK(part["cuda"][0]["drivers_compatible"].front() == "525");
  for (const auto& row : part["frameworks"])
    CHECK(row["on"] == "cu12.4");
  CHECK(part["drivers"].front()["branch"] == 525);

  Session session;
  CHECK(mentions(failure_of([&] {
                   session.run({"env", "matrix", "--cuda", "12.7"});
                 }),
                 "--cuda '12.7' is unknown; known: 9.0, "));
}

TEST_CASE("people see a line for each release, with all that it runs on") {
  Session session;
  session.run({"env", "matrix", "--cuda", "12.4"});
  CHECK(session.out.text.find("PyTorch") != std::string::npos);
  session.out.text.clear();
  session.run({"env", "matrix", "--cuda", "12.4", "-o", "name"});
  CHECK(session.out.text.find("tr2.5.1_cu12.4_py313\n") != std::string::npos);
}

TEST_CASE("a name says what it installs, and warns of what is no longer available") {
  Session session;
  session.run({"env", "matrix", "tf1.12_tr1.3.0_mx1.5.0_cu9.0_py36", "-o", "json"});
  const auto found = nlohmann::json::parse(session.out.text);
  CHECK(found["offered"] == false);
  CHECK(found["frameworks"][2]["install"] == nlohmann::json::array({"mxnet-cu90==1.5.0"}));
  CHECK(session.err.text.find("PyTorch 1.3.0 is no longer available") != std::string::npos);
  CHECK(mentions(failure_of([&] {
                   session.run({"env", "matrix", "tr2.5.1_cu13.0_py312"});
                 }),
                 "nearest: tr2.5.1_cu12.4_py312"));
}

TEST_CASE("a driver that cannot be is refused before any node is asked") {
  const auto refusal = [](std::vector<std::string> words) {
    Session session;
    words.insert(words.begin(), {"env", "install-driver", "--cluster", "none"});
    return failure_of([&] { session.run(words); });
  };
  CHECK(mentions(refusal({"--driver", "535", "--cuda", "13.0"}),
                 "driver 535 does not support CUDA 13.0"));
  CHECK(mentions(refusal({"--assume-gpu", "L40S:8"}), "use it with --dry-run"));
  CHECK(refusal({"--reboot", "perhaps"}).kind() == ErrorKind::usage);
  CHECK(refusal({"--repository-key", "/nonexistent"}).kind() == ErrorKind::not_found);
  CHECK(refusal({"--repository-key", "/etc/os-release"}).kind() == ErrorKind::usage);
  CHECK(refusal({}).kind() == ErrorKind::not_found);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
