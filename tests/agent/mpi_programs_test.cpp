#include "agent/jobs/mpi_programs.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/mpi_programs");

using Words = std::vector<std::string>;

TEST_CASE("a program that is linked to MPI, or a script for mpi4py, is one of MPI") {
  const test::TempDirectory temp;
  const auto write = [&temp](const char* name, const std::string& text) {
    std::ofstream(temp.path() / name) << text;
    std::filesystem::permissions(temp.path() / name, std::filesystem::perms::owner_all);
  };
  using namespace std::string_literals;
  write("linked",
        "\x7f"
        "ELF\0\0libc.so.6\0libmpi.so.40\0"s);
  write("plain",
        "\x7f"
        "ELF\0\0libc.so.6\0"s);
  write("train.py", "from mpi4py import MPI\n");
  write("other.py", "import os\n");
  const std::string path = temp.path().string();
  CHECK(uses_mpi(Words{"linked"}, "/", path));
  CHECK(uses_mpi(Words{"./linked", "-x"}, temp.path(), ""));
  CHECK(uses_mpi(Words{"plain", "-u", "train.py"}, temp.path(), path));
  CHECK(uses_mpi(Words{"plain", path + "/train.py"}, "/", path));
  CHECK_FALSE(uses_mpi(Words{"plain", "other.py"}, temp.path(), path));
  CHECK_FALSE(uses_mpi(Words{"linked"}, temp.path(), "/nowhere"));
  CHECK_FALSE(uses_mpi(Words{"plain", ".", "mpi4py", ""}, temp.path(), path));
  CHECK_FALSE(uses_mpi(Words{}, temp.path(), path));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
