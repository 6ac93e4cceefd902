#include "agent/mpi_parameters.hpp"

#include <doctest/doctest.h>

#include "agent/files/disk.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

using Settings = std::vector<std::string>;

void put(const std::filesystem::path& file, const char* text) {
  std::filesystem::create_directories(file.parent_path());
  write_atomically(file, text);
}

TEST_SUITE_BEGIN("agent/mpi_parameters");

TEST_CASE("a file of parameters is read as Open MPI reads it") {
  CHECK(parse_mpi_parameters("# a comment\n\n btl = ^openib \r\npml=ob1 # why\nodd\n= 3\n"
                             "btl_tcp_if_exclude = lo,docker0\nempty =") ==
        Settings{"btl=^openib", "pml=ob1", "btl_tcp_if_exclude=lo,docker0", "empty="});
}

TEST_CASE("settings of the user's file win over those of the installation") {
  const test::TempDirectory root;
  const auto home = root.path() / "root";
  const auto read = [&](const char* mpirun) { return mpi_parameters(home, mpirun, root.path()); };
  CHECK(read("/usr/bin/mpirun").empty());
  put(root.path() / "etc/openmpi/openmpi-mca-params.conf", "btl = self\nmtl = ^ofi\n");
  put(root.path() / "opt/mpi/etc/openmpi-mca-params.conf", "rmaps = seq\n");
  CHECK(read("/usr/bin/mpirun") == Settings{"btl=self", "mtl=^ofi"});
  put(home / ".openmpi/mca-params.conf", "btl = tcp\n");
  CHECK(read("/usr/bin/mpirun") == Settings{"btl=tcp", "mtl=^ofi"});
  CHECK(read("/opt/mpi/bin/mpirun") == Settings{"btl=tcp", "rmaps=seq"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
