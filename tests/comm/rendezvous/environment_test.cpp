#include "comm/rendezvous/rank_environment.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <string>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;
using Variables = std::map<std::string, std::string>;

JobPlace place_with(const Variables& variables) {
  return job_place([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

const Variables kPlain{
    {"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node-0"}, {"MASTER_PORT", "29500"}};

Variables plain_but(const std::string& name, const std::string& value) {
  Variables variables = kPlain;
  variables[name] = value;
  return variables;
}

TEST_SUITE_BEGIN("comm/environment");

TEST_CASE("a program started alone is a world of one") {
  const JobPlace place = place_with({});
  CHECK(place.rank == Rank{0});
  CHECK(place.size == 1);
  CHECK(place.timeout == 60s);
  CHECK(place.wait_timeout == 30min);
  CHECK(place.silence == 60s);
}

TEST_CASE("a rank alone is doubted where a launcher has started several processes") {
  const auto doubt = [](const Variables& variables) {
    return doubt_of_lone_rank([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  };
  CHECK_FALSE(doubt({}));
  CHECK_FALSE(doubt(kPlain));
  CHECK_FALSE(doubt({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"PMI_SIZE", "4"}}));
  CHECK_FALSE(doubt({{"OMPI_COMM_WORLD_RANK", "1"}, {"PMI_SIZE", "4"}}));
  CHECK_FALSE(doubt({{"SLURM_STEP_NUM_TASKS", "1"}, {"PMI_SIZE", "x"}}));
  CHECK(doubt({{"SLURM_STEP_NUM_TASKS", "8"}}) ==
        "this process is a job of one rank, because RANK and WORLD_SIZE are not set, although "
        "SLURM_STEP_NUM_TASKS is '8': set both if it is one rank of several, or RANK=0 and "
        "WORLD_SIZE=1");
  CHECK(doubt({{"PMI_SIZE", "2"}, {"MASTER_ADDR", "a"}})->find("although PMI_SIZE is '2':") !=
        std::string::npos);
  for (const std::string name : {"MASTER_ADDR", "FASTGPU_COMM_MASTER_ADDR", "LOCAL_RANK"})
    CHECK(doubt({{name, "1"}})->find("although " + name + " is '1':") != std::string::npos);
}

TEST_CASE("the meeting has a limit of its own, or that of all waits") {
  JobPlace place = place_with(plain_but("FASTGPU_COMM_TIMEOUT", "5m"));
  CHECK(place.timeout == 5min);
  CHECK(place.wait_timeout == 5min);
  Variables variables = plain_but("FASTGPU_COMM_JOIN_TIMEOUT", "10s");
  variables["FASTGPU_COMM_SILENCE"] = "2s";
  place = place_with(variables);
  CHECK(place.timeout == 10s);
  CHECK(place.wait_timeout == 30min);
  CHECK(place.silence == 2s);
  for (const std::string name : {"FASTGPU_COMM_JOIN_TIMEOUT", "FASTGPU_COMM_SILENCE"})
    CHECK(mentions(failure_of([&] { place_with(plain_but(name, "0s")); }), name));
}

TEST_CASE(
    "a fabric is welcome by default, a must by name, and off where another transport is named") {
  const auto fabric_with = [](const std::string& name, const std::string& value) {
    return place_with(plain_but(name, value)).fabric;
  };
  CHECK(place_with(kPlain).transport == NetworkTransport::automatic);
  CHECK(place_with(kPlain).fabric.need == fabric::FabricNeed::welcome);
  CHECK(fabric_with("FASTGPU_COMM_TRANSPORT", "fabric").need == fabric::FabricNeed::must);
  for (const std::string other : {"tcp", "mpi"})
    CHECK(fabric_with("FASTGPU_COMM_TRANSPORT", other).need == fabric::FabricNeed::none);
  CHECK(fabric_with("FASTGPU_COMM_FABRIC", "off").need == fabric::FabricNeed::none);
  CHECK(fabric_with("FASTGPU_COMM_FABRIC", "auto").provider.empty());
  CHECK(fabric_with("FASTGPU_COMM_FABRIC", "tcp;ofi_rxm").provider == "tcp;ofi_rxm");
  CHECK(fabric_with("FASTGPU_LOCAL_RANK", "3").gpu.local_rank == 3);
  CHECK(fabric_with("SLURM_LOCALID", "1").gpu.local_rank == 1);
  CHECK_FALSE(fabric_with("LOCAL_RANK", "x").gpu.local_rank);
  CHECK(fabric_with("CUDA_VISIBLE_DEVICES", "2,3").gpu.visible == "2,3");
  CHECK(fabric_with("FASTGPU_COMM_FABRIC_DEVICE", "mlx5_1").device == "mlx5_1");
  CHECK(fabric_with("FASTGPU_COMM_FABRIC_DEVICE", "mlx5_1").further_devices.empty());
  CHECK(fabric_with("FASTGPU_COMM_FABRIC_PUT", "b").put == fabric::Put::then_send);
  CHECK_FALSE(fabric_with("FASTGPU_COMM_FABRIC_PUT", "auto").put);
  CHECK(fabric_with("FASTGPU_COMM_GPUDIRECT", "off").gpudirect == fabric::GpuDirect::off);
  CHECK(fabric_with("FASTGPU_COMM_GPUDIRECT", "auto").gpudirect == fabric::GpuDirect::automatic);
  CHECK(mentions(failure_of([&] { fabric_with("FASTGPU_COMM_GPUDIRECT", "on"); }),
                 "FASTGPU_COMM_GPUDIRECT is 'on', not one of auto, off"));
  Variables contradiction = plain_but("FASTGPU_COMM_TRANSPORT", "fabric");
  contradiction["FASTGPU_COMM_FABRIC"] = "off";
  CHECK(mentions(failure_of([&] { place_with(contradiction); }), "FASTGPU_COMM_FABRIC is 'off'"));
}

TEST_CASE("a fabric beside TCP is a must, unless several interfaces are enough") {
  Variables variables = plain_but("FASTGPU_COMM_TRANSPORT", "hybrid");
  CHECK(place_with(variables).transport == NetworkTransport::hybrid);
  CHECK(place_with(variables).fabric.need == fabric::FabricNeed::must);
  variables["FASTGPU_COMM_INTERFACE"] = "eth0";
  CHECK(place_with(variables).fabric.need == fabric::FabricNeed::must);
  variables["FASTGPU_COMM_FABRIC"] = "off";
  CHECK(mentions(failure_of([&] { place_with(variables); }),
                 "FASTGPU_COMM_TRANSPORT is 'hybrid', but FASTGPU_COMM_FABRIC is 'off'"));
  variables["FASTGPU_COMM_INTERFACE"] = "eth0,eth1";
  CHECK(place_with(variables).fabric.need == fabric::FabricNeed::none);
  variables["FASTGPU_COMM_FABRIC"] = "verbs";
  CHECK(place_with(variables).fabric.need == fabric::FabricNeed::welcome);
}

TEST_CASE("a job may require a fabric, if no other variable excludes one") {
  CHECK_FALSE(place_with(kPlain).fabric.is_required);
  CHECK_FALSE(place_with(plain_but("FASTGPU_COMM_REQUIRE", "any")).fabric.is_required);
  Variables variables = plain_but("FASTGPU_COMM_REQUIRE", "fabric");
  CHECK(place_with(variables).fabric.is_required);
  CHECK(place_with(variables).fabric.need == fabric::FabricNeed::welcome);
  variables["FASTGPU_COMM_FABRIC"] = "off";
  CHECK(mentions(failure_of([&] { place_with(variables); }), "FASTGPU_COMM_REQUIRE is 'fabric'"));
  variables["FASTGPU_COMM_FABRIC"] = "auto";
  variables["FASTGPU_COMM_TRANSPORT"] = "tcp";
  CHECK(failure_of([&] { place_with(variables); }).kind() == ErrorKind::usage);
  const Error e = failure_of([&] { place_with(plain_but("FASTGPU_COMM_REQUIRE", "rdma")); });
  CHECK(mentions(e, "FASTGPU_COMM_REQUIRE is 'rdma', not one of any, fabric"));
}

TEST_CASE("RANK and its companions are read") {
  const JobPlace place = place_with(kPlain);
  CHECK(place.rank == Rank{2});
  CHECK(place.size == 4);
  CHECK(place.master_host == "node-0");
  CHECK(place.master_port == 29500);
}

TEST_CASE("under Open MPI the rank is mpirun's and the address is ours") {
  const JobPlace place = place_with({{"OMPI_COMM_WORLD_RANK", "1"},
                                     {"OMPI_COMM_WORLD_SIZE", "2"},
                                     {"FASTGPU_COMM_MASTER_ADDR", "10.0.0.1"},
                                     {"FASTGPU_COMM_MASTER_PORT", "4000"},
                                     {"FASTGPU_COMM_INTERFACE", "eth1"},
                                     {"FASTGPU_COMM_SECRET", "s3cret"},
                                     {"FASTGPU_COMM_TIMEOUT", "250ms"}});
  CHECK(place.rank == Rank{1});
  CHECK(place.size == 2);
  CHECK(place.master_host == "10.0.0.1");
  CHECK(place.master_port == 4000);
  CHECK(place.interface == "eth1");
  CHECK(place.secret.reveal() == "s3cret");
  CHECK(place.timeout == 250ms);
}

TEST_CASE("several interfaces are a list, in which each is named once") {
  const auto read = [](const char* text) { return place_with({{"FASTGPU_COMM_INTERFACE", text}}); };
  CHECK(read("eth0").further_interfaces.empty());
  CHECK(read("").interface.empty());
  const JobPlace place = read("eth0,ib1,eth2");
  CHECK(place.interface == "eth0");
  CHECK(place.further_interfaces == std::vector<std::string>{"ib1", "eth2"});
  CHECK(read("eth0, ib1 ,eth2").further_interfaces == place.further_interfaces);
  for (const char* wrong : {",", "eth0,", ",eth0", "eth0,,eth1", "eth0, ,eth1", "eth0,eth1,eth0",
                            "eth0, eth0", "a,b,c,d,e,f,g,h,i"}) {
    CAPTURE(wrong);
    const Error e = failure_of([&] { read(wrong); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("FASTGPU_COMM_INTERFACE is '" + std::string(wrong)) == 0);
  }
}

TEST_CASE("several devices of a fabric are a list, in which each is named once") {
  const auto read = [](const char* text) {
    return place_with({{"FASTGPU_COMM_FABRIC_DEVICE", text}}).fabric;
  };
  CHECK(read("").device.empty());
  CHECK(read("mlx5_0,mlx5_2").device == "mlx5_0");
  CHECK(read("mlx5_0,mlx5_2").further_devices == std::vector<std::string>{"mlx5_2"});
  for (const char* wrong : {",", "a,", "a,,b", "a,b,a", "a,b,c,d,e"}) {
    CAPTURE(wrong);
    const Error e = failure_of([&] { read(wrong); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_FABRIC_DEVICE is '" + std::string(wrong)));
    CHECK(mentions(e, "name devices like mlx5_0 or mlx5_0,mlx5_1"));
  }
}

TEST_CASE("under Open MPI without an address, MPI tells where rank 0 is met") {
  Variables variables{{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "4"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                      {"FASTGPU_COMM_MPI_PLUGIN", "/opt/mpi.so"}};
  CHECK(place_with(variables).meeting == Meeting::by_mpi);
  CHECK(place_with(variables).master_host.empty());
  CHECK(place_with(variables).hosts == Hosts::several);
  CHECK(place_with(variables).mpi_plugin == "/opt/mpi.so");
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
  CHECK(place_with(variables).hosts == Hosts::one);
}

TEST_CASE("an address that is set, even in part, is what the ranks meet at") {
  Variables variables{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  variables["MASTER_PORT"] = "29500";
  const Error e = failure_of([&] { place_with(variables); });
  CHECK(std::string(e.what()).find("FASTGPU_COMM_MASTER_ADDR is not set") == 0);
  variables["FASTGPU_COMM_MASTER_ADDR"] = "node-0";
  CHECK(place_with(variables).meeting == Meeting::at_address);
}

TEST_CASE("without mpirun and without an address, the sentence says who tells it") {
  Variables variables = kPlain;
  variables.erase("MASTER_ADDR");
  variables["OMPI_COMM_WORLD_RANK"] = "2";
  variables["OMPI_COMM_WORLD_SIZE"] = "4";
  const Error e = failure_of([&] { place_with(variables); });
  CHECK(std::string(e.what()).find("where mpirun starts them, and RANK is not set, MPI tells it") !=
        std::string::npos);
}

TEST_CASE("the secret may be in a file that a variable names") {
  const test::TempDirectory directory;
  const auto file = directory.path() / "secret";
  std::ofstream(file) << "from a file\n";
  Variables variables = plain_but("FASTGPU_COMM_SECRET_FILE", file.string());
  CHECK(place_with(variables).secret.reveal() == "from a file");
  variables["FASTGPU_COMM_SECRET"] = "itself";
  CHECK(place_with(variables).secret.reveal() == "itself");
}

TEST_CASE("a file without a secret is named, and a job of one needs none") {
  const test::TempDirectory directory;
  const auto refusal = [&](const std::string& file) {
    const Variables variables = plain_but("FASTGPU_COMM_SECRET_FILE", file);
    const Error e = failure_of([&] { place_with(variables); });
    CHECK(e.kind() == ErrorKind::usage);
    return std::string(e.what());
  };
  const std::string missing = directory.path() / "missing", empty = directory.path() / "empty",
                    long_one = directory.path() / "long", pipe = directory.path() / "pipe";
  std::ofstream(empty) << "\n";
  std::ofstream(long_one) << std::string(5'000, 'x');
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string before = "FASTGPU_COMM_SECRET_FILE is '";
  CHECK(refusal(missing) == before + missing + "': No such file or directory");
  CHECK(refusal(empty) == before + empty + "': the file is empty");
  CHECK(refusal(long_one) == before + long_one + "': larger than 4096 bytes");
  CHECK(refusal(pipe) == before + pipe + "': not a regular file");
  CHECK(refusal("/dev/null") == before + "/dev/null': not a regular file");
  CHECK(place_with({{"FASTGPU_COMM_SECRET_FILE", missing}}).size == 1);
}

TEST_CASE("our own master variables win over those of others") {
  Variables variables = plain_but("FASTGPU_COMM_MASTER_ADDR", "ours");
  variables["FASTGPU_COMM_MASTER_PORT"] = "4001";
  CHECK(place_with(variables).master_host == "ours");
  CHECK(place_with(variables).master_port == 4001);
}

TEST_CASE("ranks of torchrun, which listens at MASTER_PORT, meet at another port") {
  const auto place_of = [](const std::string& port) {
    Variables variables = plain_but("MASTER_PORT", port);
    variables["TORCHELASTIC_RUN_ID"] = "none";
    return place_with(variables);
  };
  CHECK(place_with(kPlain).port_source == PortSource::master_port);
  CHECK(place_of("29500").master_port == 30'500);
  CHECK(place_of("29500").port_source == PortSource::beside_torchrun);
  CHECK(place_of("1").master_port == 1'001);
  CHECK(place_of("64535").master_port == 65'535);
  CHECK(place_of("64536").master_port == 63'536);
  CHECK(place_of("65535").master_port == 64'535);
}

TEST_CASE("a port of our own is taken as it is, under torchrun as well") {
  Variables variables = plain_but("FASTGPU_COMM_MASTER_PORT", "4001");
  CHECK(place_with(variables).port_source == PortSource::ours);
  variables["TORCHELASTIC_RUN_ID"] = "none";
  CHECK(place_with(variables).master_port == 4001);
  CHECK(place_with(variables).port_source == PortSource::ours);
}

TEST_CASE("the address of rank 0 may have the brackets of IPv6, and no port, path or blank") {
  CHECK(place_with(plain_but("MASTER_ADDR", "[fd00::5]")).master_host == "fd00::5");
  CHECK(place_with(plain_but("MASTER_ADDR", "fe80::1%eth0")).master_host == "fe80::1%eth0");
  for (const std::string wrong : {"10.0.0.1:29500", "node-0:29500", "[fd00::5]:29500"})
    CHECK(mentions(failure_of([&] { place_with(plain_but("MASTER_ADDR", wrong)); }),
                   "MASTER_ADDR is '" + wrong + "', with a port"));
  for (const std::string wrong : {"tcp://node-0", "node 0", "node-0\n", " "})
    CHECK(mentions(failure_of([&] { place_with(plain_but("MASTER_ADDR", wrong)); }),
                   "', not a host name or an address, such as node-0 or 10.0.0.1"));
}

TEST_CASE("a variable that makes no sense is named with its value") {
  const std::multimap<std::string, std::string> wrong{{"RANK", "44"},
                                                      {"RANK", "-1"},
                                                      {"RANK", "two"},
                                                      {"WORLD_SIZE", "0"},
                                                      {"WORLD_SIZE", "4x"},
                                                      {"WORLD_SIZE", "99999999999"},
                                                      {"MASTER_PORT", "0"},
                                                      {"MASTER_PORT", "70000"},
                                                      {"MASTER_PORT", " 1"},
                                                      {"FASTGPU_COMM_COLLECTIVES", "theirs"},
                                                      {"FASTGPU_COMM_TRANSPORT", "pigeon"},
                                                      {"FASTGPU_COMM_ALGORITHM", "rings"},
                                                      {"FASTGPU_COMM_TIMEOUT", "0"},
                                                      {"FASTGPU_COMM_TIMEOUT", "soon"},
                                                      {"FASTGPU_COMM_SHARED_MEMORY", "off"}};
  for (const auto& [name, value] : wrong) {
    const Error e = failure_of([&] { place_with(plain_but(name, value)); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find(name) == 0);
    CHECK(std::string(e.what()).find(value) != std::string::npos);
  }
}

TEST_CASE("a variable that is missing is named") {
  for (const std::string name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    Variables variables = kPlain;
    variables.erase(name);
    const Error e = failure_of([&] { place_with(variables); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find(name + " is not set") != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
