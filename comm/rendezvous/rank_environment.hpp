// What the environment variables say about this rank's place in its job.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/common/rank.hpp"
#include "comm/fabric/fabric_settings.hpp"
#include "comm/rendezvous/address.hpp"
#include "comm/schedule/all_reduce.hpp"

namespace fastgpu::comm {

/// Whether ranks of one host exchange data through memory that they share.
enum class SharedMemory : std::uint8_t { off, on };

/// How ranks learn where rank 0 is met.
enum class Meeting : std::uint8_t { at_address, by_mpi };

/// The variable that has the port of rank 0: FASTGPU_COMM_MASTER_PORT, MASTER_PORT, or MASTER_PORT
/// of torchrun, whose own store listens there, so that the ranks meet at another port.
enum class PortSource : std::uint8_t { ours, master_port, beside_torchrun };

/// The distance of the port at which the ranks of torchrun meet from MASTER_PORT. Jobs beside each
/// other on a machine often have ports that follow each other.
constexpr int kPortsBesideTorchrun = 1000;

/// The number of hosts on which mpirun runs its ranks.
enum class Hosts : std::uint8_t { one, several };

/// The transport between ranks that share no memory. `automatic` is TCP, or a fabric for ranks that
/// both have its hardware, or both if a measurement finds that they carry more. `hybrid` is TCP and
/// a fabric together, each with the part of a message that it has room for.
enum class NetworkTransport : std::uint8_t { tcp, mpi, fabric, automatic, hybrid };

/// The library that runs collectives.
enum class CollectiveLibrary : std::uint8_t { ours, mpi };

/// Connections between two ranks on different hosts, at most.
constexpr int kMostFlows = 64;

/// Network interfaces of one rank, at most.
constexpr std::size_t kMostInterfaces = 8;

/// More ranks than this are taken for a mistake.
constexpr int kMostRanks = 65536;

struct JobPlace {
  Rank rank{0};
  int size = 1;
  Meeting meeting = Meeting::at_address;
  std::string master_host;  ///< The host of rank 0; empty in a world of one, and if MPI knows it.
  std::uint16_t master_port = 0;
  PortSource port_source = PortSource::ours;
  std::vector<Endpoint> points{};  ///< The addresses of rank 0, once MPI has sent them.
  Hosts hosts = Hosts::several;    ///< Used if MPI sends the address of rank 0.
  CollectiveLibrary collectives = CollectiveLibrary::ours;
  std::string mpi_plugin{};  ///< The plugin's file; empty: the usual one.
  std::string interface {};  ///< Network interface to use, or empty: the one that leads to rank 0.
  /// Interfaces that carry messages beside the first one; the other ranks name as many.
  std::vector<std::string> further_interfaces{};
  Secret secret{};                            ///< Empty: loopback only.
  std::chrono::milliseconds timeout{60'000};  ///< The limit for the meeting.
  /// A wait in which nothing moves ends the job after this long, though all ranks live.
  std::chrono::milliseconds wait_timeout = std::chrono::minutes(30);
  std::chrono::milliseconds silence{60'000};  ///< Such a wait is reported after this long.
  /// Connections to each rank on another host; absent: four between two hosts, shared by their
  /// ranks.
  std::optional<int> flows{};
  SharedMemory shared_memory = SharedMemory::on;
  NetworkTransport transport = NetworkTransport::automatic;
  fabric::FabricSettings fabric{};
  std::optional<Algorithm> algorithm{};  ///< The algorithm of all-reduces; absent: chosen for each.
};

/// Reads RANK and WORLD_SIZE, or Open MPI's OMPI_COMM_WORLD_RANK and _SIZE, or takes a world of
/// one; then FASTGPU_COMM_MASTER_ADDR and _PORT, or MASTER_ADDR and MASTER_PORT (under
/// torchrun another port, see PortSource), which MPI replaces if the rank is Open MPI's; the secret
/// of several ranks as read_secret() finds it; then FASTGPU_COMM_INTERFACE, FASTGPU_COMM_TIMEOUT,
/// which is for the meeting too where there is no FASTGPU_COMM_JOIN_TIMEOUT, FASTGPU_COMM_SILENCE,
/// FASTGPU_COMM_FLOWS, FASTGPU_COMM_SHARED_MEMORY, FASTGPU_COMM_TRANSPORT, FASTGPU_COMM_ALGORITHM,
/// FASTGPU_COMM_COLLECTIVES, FASTGPU_COMM_MPI_PLUGIN, FASTGPU_COMM_REQUIRE and the variables
/// FASTGPU_COMM_FABRIC*. Throws ErrorKind::usage, naming the variable, for anything that is missing
/// or not valid.
JobPlace job_place(const Environment& environment);

/// Returns a warning if no variable of the rank is set, and others show that a launcher has started
/// several processes, or was to: each of them would train alone.
std::optional<std::string> doubt_of_lone_rank(const Environment& environment);

}  // namespace fastgpu::comm
