#include "provision/providers/huawei/api.hpp"

#include <doctest/doctest.h>

#include "provision/api_tools.hpp"

namespace fastgpu::provision::huawei {
namespace {

/// An account with projects in two regions, of which "p" is the first's.
class Account final : public http::Client {
 public:
  int status = 200;
  int asked = 0;
  http::Response send(const http::Request& request, const Cancel&) override {
    ++asked;
    if (status != 200)
      return {.status = status,
              .headers = {},
              .body = R"({"error_code": "Pdp.0001", "error_msg": "no"})"};
    if (request.url.find("name=cn-east-3") != std::string::npos)
      return {.status = 200,
              .headers = {},
              .body = R"({"projects": [{"id": "e", "name": "cn-east-3"}]})"};
    return {
        .status = 200,
        .headers = {},
        .body =
            R"({"projects": [{"id": "n", "name": "cn-north-4"}, {"id": "p", "name": "cn-north-4_team"},
                                     {"id": "e", "name": "cn-east-3"}]})"};
  }
};

struct Bench {
  Account account;
  test::Unheard observer;
  Api api{test::tools_over(account, observer), ""};
  Cancel cancel;
};

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE("the project of the credentials is that of its own region, and of no other") {
  Bench bench;
  CHECK(bench.api.project("cn-north-4", bench.cancel).id == "p");
  CHECK(bench.api.project("cn-east-3", bench.cancel).id == "e");
  const int asked = bench.account.asked;
  CHECK(bench.api.project("cn-north-4", bench.cancel).id == "p");
  CHECK(bench.api.project("cn-east-3", bench.cancel).id == "e");
  CHECK(bench.account.asked == asked);
}

TEST_CASE("who may list no projects means the one that is named") {
  Bench bench;
  bench.account.status = 403;
  CHECK(bench.api.project("cn-east-3", bench.cancel).id == "p");
}

TEST_CASE("the project of a part of the account is in the region before the underscore") {
  CHECK(region_of_project("cn-north-4_team") == "cn-north-4");
  CHECK(region_of_project("cn-north-4") == "cn-north-4");
  CHECK(region_of_project("").empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
