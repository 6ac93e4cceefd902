#include "agent/jobs/search_paths.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/search_paths");

TEST_CASE("a rank has the search path of a login, with what its launcher alone has in front") {
  constexpr std::array<std::string_view, 1> kUsual = {"/usr/lib"};
  struct Row {
    const char *now, *login, *wanted;
  };
  const Row rows[] = {
      {"/usr/bin:/usr/bin:/opt/conda/bin:/usr/bin", "/opt/conda/bin:/usr/bin",
       "/opt/conda/bin:/usr/bin"},
      {"/opt/mpi/bin:/opt/mpi/bin:/usr/bin:/bin", "/usr/bin:/bin", "/opt/mpi/bin:/usr/bin:/bin"},
      {"/usr/bin:/usr/bin", "/usr/bin", "/usr/bin"},
      {"/usr/bin:/other", "/usr/bin", "/usr/bin:/other"},  // Something else has changed it.
      {"/usr/lib:/usr/lib:", "", ""},
      {"/usr/lib:/opt/mpi/lib:", "", "/opt/mpi/lib"},
      {"/opt/mpi/lib:/usr/lib:/own", "/own", "/opt/mpi/lib:/own"},
      {"", "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.now);
    CHECK(search_path(row.now, row.login, kUsual) == row.wanted);
  }
}

TEST_CASE("what a launcher puts in front of the paths of its environment is undone for a rank") {
  std::vector<std::string> environment = {"PATH=/opt/conda/bin:/usr/bin", "HOME=/root"};
  const std::vector<std::string> before = environment;
  keep_login_paths(environment);
  process::set_variable(environment, "PATH=/usr/bin:/opt/conda/bin:/usr/bin");
  process::set_variable(environment, "LD_LIBRARY_PATH=/usr/lib:/usr/lib:");
  restore_login_paths(environment);
  CHECK(process::variable(environment, "PATH") == "/opt/conda/bin:/usr/bin");
  CHECK(environment.size() == before.size());

  std::vector<std::string> other = {"PATH=/usr/bin:/opt/conda/bin"};
  restore_login_paths(other);  // Slurm has started this rank.
  CHECK(other == std::vector<std::string>{"PATH=/usr/bin:/opt/conda/bin"});
}

}  // namespace
}  // namespace fastgpu::agent
