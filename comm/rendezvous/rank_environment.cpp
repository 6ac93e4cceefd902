#include "comm/rendezvous/rank_environment.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "comm/rendezvous/secret.hpp"

namespace fastgpu::comm {
namespace {

struct Variable {
  std::string name;
  std::string value;
};

Variable need(const Environment& environment, const std::string& name, const std::string& why) {
  if (auto value = environment(name)) return {name, std::move(*value)};
  throw Error(ErrorKind::usage, name + " is not set, but " + why);
}

int number(const Variable& variable, int least, int most) {
  const auto value = to_number<int>(variable.value);
  if (value && *value >= least && *value <= most) return *value;
  throw Error(ErrorKind::usage, variable.name + " is '" + printable(variable.value) +
                                    "', not a number from " + std::to_string(least) + " to " +
                                    std::to_string(most));
}

void read_rank(JobPlace& place, const Environment& environment, const std::string& rank,
               const std::string& size) {
  const Variable ranks = need(environment, size, rank + " is");
  const Variable self = need(environment, rank, size + " is");
  place.size = number(ranks, 1, kMostRanks);
  place.rank = {number(self, 0, place.size - 1)};
}

/// FASTGPU_COMM_`name`, or `name` itself as other launchers set it.
Variable master(const Environment& environment, const std::string& name) {
  const std::string ours = "FASTGPU_COMM_" + name;
  if (auto value = environment(ours)) return {ours, std::move(*value)};
  if (auto value = environment(name)) return {name, std::move(*value)};
  throw Error(ErrorKind::usage, ours +
                                    " is not set: the ranks meet at the address and port of "
                                    "rank 0, which the launcher sets for each of them; where "
                                    "mpirun starts them, and RANK is not set, MPI tells it");
}

/// Returns a name or an address, without the brackets of an IPv6 address. Throws usage for text
/// that no name server is to be asked for.
std::string host_from(const Variable& variable) {
  const std::string& text = variable.value;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, variable.name + " is '" + printable(text) + "', " + why);
  };
  if (text.starts_with('[') && text.ends_with(']')) return text.substr(1, text.size() - 2);
  if (text.find_first_of("/ \t\r\n") != std::string::npos)
    refuse("not a host name or an address, such as node-0 or 10.0.0.1");
  if (std::ranges::count(text, ':') == 1 || text.find("]:") != std::string::npos)
    refuse("with a port: that is MASTER_PORT or FASTGPU_COMM_MASTER_PORT");
  return text;
}

constexpr int kLastPort = 65'535;

int port_beside_torchrun(int port) {
  return port + kPortsBesideTorchrun <= kLastPort ? port + kPortsBesideTorchrun
                                                  : port - kPortsBesideTorchrun;
}

void read_master(JobPlace& place, const Environment& environment) {
  place.master_host = host_from(master(environment, "MASTER_ADDR"));
  const Variable variable = master(environment, "MASTER_PORT");
  int port = number(variable, 1, kLastPort);
  if (variable.name == "MASTER_PORT") {
    const bool is_by_torchrun = environment("TORCHELASTIC_RUN_ID").has_value();
    place.port_source = is_by_torchrun ? PortSource::beside_torchrun : PortSource::master_port;
    if (is_by_torchrun) port = port_beside_torchrun(port);
  }
  place.master_port = static_cast<std::uint16_t>(port);
}

bool names_master(const Environment& environment) {
  return std::ranges::any_of(std::array{"FASTGPU_COMM_MASTER_ADDR", "FASTGPU_COMM_MASTER_PORT",
                                        "MASTER_ADDR", "MASTER_PORT"},
                             [&](const char* name) { return environment(name).has_value(); });
}

NetworkTransport transport(const std::string& text) {
  if (text == "tcp") return NetworkTransport::tcp;
  if (text == "mpi") return NetworkTransport::mpi;
  if (text == "fabric") return NetworkTransport::fabric;
  if (text == "auto") return NetworkTransport::automatic;
  if (text == "hybrid") return NetworkTransport::hybrid;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_TRANSPORT is '" + printable(text) +
                                    "', not one of auto, tcp, fabric, hybrid, mpi");
}

/// The need that follows from the transport, unless the fabric is off. Several interfaces are
/// enough for `hybrid`.
fabric::FabricNeed need_of(const JobPlace& place) {
  switch (place.transport) {
    case NetworkTransport::fabric:
      return fabric::FabricNeed::must;
    case NetworkTransport::hybrid:
      return place.further_interfaces.empty() ? fabric::FabricNeed::must
                                              : fabric::FabricNeed::welcome;
    case NetworkTransport::automatic:
      return fabric::FabricNeed::welcome;
    case NetworkTransport::tcp:
    case NetworkTransport::mpi:
      return fabric::FabricNeed::none;
  }
  return fabric::FabricNeed::none;
}

/// A variable that is a list of names.
struct NameList {
  std::string variable;
  std::string what;
  std::string example;
  std::size_t most = 1;
};

/// Returns the names of a list with commas between them; none for an empty text. Throws usage if
/// they are too many, and for an empty name or one that is there twice.
std::vector<std::string> names_in(const std::string& text, const NameList& list) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, list.variable + " is '" + printable(text) + "', " + why +
                                      ": name " + list.what + " like " + list.example);
  };
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');)
    names.emplace_back(trimmed(name));
  if (names.size() > list.most)
    refuse("which is more than " + std::to_string(list.most) + " " + list.what);
  if (text.ends_with(',') || contains(names, "")) refuse("with an empty name");
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse("with a name twice");
  return names;
}

/// Reads the number of the rank on its machine as run job, torchrun, mpirun and Slurm set it, and
/// the GPUs that it sees. Ignores a value that is not a number.
fabric::GpuVariables gpu_variables(const Environment& environment) {
  fabric::GpuVariables variables{.visible = environment("CUDA_VISIBLE_DEVICES")};
  for (const char* const name :
       {"FASTGPU_LOCAL_RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const auto text = environment(name); text && !variables.local_rank)
      variables.local_rank = to_number<int>(*text);
  return variables;
}

/// Reads the variables after those of interfaces and the transport.
fabric::FabricSettings fabric_settings(const Environment& environment, const JobPlace& place) {
  fabric::FabricSettings settings{.need = need_of(place), .gpu = gpu_variables(environment)};
  settings.plugin = environment("FASTGPU_COMM_FABRIC_PLUGIN").value_or("");
  if (const auto text = environment("FASTGPU_COMM_FABRIC_DEVICE")) {
    auto names = names_in(*text, {.variable = "FASTGPU_COMM_FABRIC_DEVICE",
                                  .what = "devices",
                                  .example = "mlx5_0 or mlx5_0,mlx5_1",
                                  .most = fabric::kMostDevices});
    if (!names.empty()) settings.device = names.front();
    if (!names.empty()) settings.further_devices.assign(names.begin() + 1, names.end());
  }
  const std::string wanted = environment("FASTGPU_COMM_FABRIC").value_or("auto");
  if (wanted == "off" && settings.need == fabric::FabricNeed::must)
    throw Error(ErrorKind::usage, "FASTGPU_COMM_TRANSPORT is '" +
                                      environment("FASTGPU_COMM_TRANSPORT").value_or("") +
                                      "', but FASTGPU_COMM_FABRIC is 'off'");
  if (wanted == "off")
    settings.need = fabric::FabricNeed::none;
  else if (wanted != "auto")
    settings.provider = wanted;
  if (const auto text = environment("FASTGPU_COMM_FABRIC_PUT"); text && *text != "auto") {
    settings.put = fabric::put_named(*text);
    if (!settings.put)
      throw Error(ErrorKind::usage, "FASTGPU_COMM_FABRIC_PUT is '" + printable(*text) +
                                        "', not one of auto, a, b, c, none");
  }
  const std::string gpudirect = environment("FASTGPU_COMM_GPUDIRECT").value_or("auto");
  if (gpudirect != "auto" && gpudirect != "off")
    throw Error(ErrorKind::usage,
                "FASTGPU_COMM_GPUDIRECT is '" + printable(gpudirect) + "', not one of auto, off");
  if (gpudirect == "off") settings.gpudirect = fabric::GpuDirect::off;
  return settings;
}

/// Returns whether FASTGPU_COMM_REQUIRE wants a fabric. Throws usage if another variable excludes
/// one.
bool requires_fabric(const Environment& environment, const fabric::FabricSettings& settings) {
  const std::string wanted = environment("FASTGPU_COMM_REQUIRE").value_or("any");
  if (wanted == "any") return false;
  if (wanted != "fabric")
    throw Error(ErrorKind::usage,
                "FASTGPU_COMM_REQUIRE is '" + printable(wanted) + "', not one of any, fabric");
  if (settings.need == fabric::FabricNeed::none)
    throw Error(ErrorKind::usage,
                "FASTGPU_COMM_REQUIRE is 'fabric', but FASTGPU_COMM_TRANSPORT or "
                "FASTGPU_COMM_FABRIC does without one");
  return true;
}

CollectiveLibrary collectives(const std::string& text) {
  if (text == "ours") return CollectiveLibrary::ours;
  if (text == "mpi") return CollectiveLibrary::mpi;
  throw Error(ErrorKind::usage,
              "FASTGPU_COMM_COLLECTIVES is '" + printable(text) + "', not one of ours, mpi");
}

Algorithm algorithm(const std::string& text) {
  if (const auto found = algorithm_named(text)) return *found;
  std::string all;
  for (const Algorithm known : kAlgorithms)
    append_item(all, name_of(known));
  throw Error(ErrorKind::usage,
              "FASTGPU_COMM_ALGORITHM is '" + printable(text) + "', not one of " + all);
}

void read_duration(std::chrono::milliseconds& duration, const Environment& environment,
                   const std::string& name) {
  const auto text = environment(name);
  if (!text) return;
  try {
    duration = parse_duration(*text);
  } catch (const Error& e) {
    throw e.during(name);
  }
  if (duration <= std::chrono::milliseconds(0))
    throw Error(ErrorKind::usage, name + " is '" + printable(*text) + "', not above 0");
}

/// Reads "eth0" or "eth0,eth1".
void read_interfaces(JobPlace& place, const std::string& text) {
  const auto names = names_in(text, {.variable = "FASTGPU_COMM_INTERFACE",
                                     .what = "interfaces",
                                     .example = "eth0 or eth0,eth1",
                                     .most = kMostInterfaces});
  if (names.empty()) return;
  place.interface = names.front();
  place.further_interfaces.assign(names.begin() + 1, names.end());
}

}  // namespace

std::optional<std::string> doubt_of_lone_rank(const Environment& environment) {
  for (const char* const rank : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK"})
    if (environment(rank)) return std::nullopt;
  std::string signs;
  for (const char* const name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE"})  // Of srun; of MPICH's kin.
    if (const auto text = environment(name); text && to_number<int>(*text).value_or(0) > 1)
      append_item(signs, std::string(name) + " is '" + printable(*text) + "'");
  for (const char* const name : {"FASTGPU_COMM_MASTER_ADDR", "MASTER_ADDR", "LOCAL_RANK"})
    if (const auto text = environment(name); text && signs.empty())
      signs = std::string(name) + " is '" + printable(*text) + "'";
  if (signs.empty()) return std::nullopt;
  return "this process is a job of one rank, because RANK and WORLD_SIZE are not set, although " +
         signs + ": set both if it is one rank of several, or RANK=0 and WORLD_SIZE=1";
}

JobPlace job_place(const Environment& environment) {
  JobPlace place;
  const bool is_plain = environment("RANK") || environment("WORLD_SIZE");
  const bool is_mpi = environment("OMPI_COMM_WORLD_RANK").has_value();
  if (is_plain)
    read_rank(place, environment, "RANK", "WORLD_SIZE");
  else if (is_mpi)
    read_rank(place, environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  if (is_mpi && !is_plain && !names_master(environment))
    place.meeting = Meeting::by_mpi;
  else if (place.size > 1)
    read_master(place, environment);
  const bool is_one_host = environment("OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(place.size);
  if (is_one_host) place.hosts = Hosts::one;
  place.mpi_plugin = environment("FASTGPU_COMM_MPI_PLUGIN").value_or("");
  if (const auto text = environment("FASTGPU_COMM_INTERFACE")) read_interfaces(place, *text);
  if (place.size > 1) place.secret = read_secret(environment);
  read_duration(place.timeout, environment, "FASTGPU_COMM_TIMEOUT");
  read_duration(place.wait_timeout, environment, "FASTGPU_COMM_TIMEOUT");
  read_duration(place.timeout, environment, "FASTGPU_COMM_JOIN_TIMEOUT");
  read_duration(place.silence, environment, "FASTGPU_COMM_SILENCE");
  if (const auto text = environment("FASTGPU_COMM_FLOWS"))
    place.flows = number({"FASTGPU_COMM_FLOWS", *text}, 1, kMostFlows);
  if (const auto text = environment("FASTGPU_COMM_SHARED_MEMORY")) {
    if (*text != "0" && *text != "1")
      throw Error(ErrorKind::usage,
                  "FASTGPU_COMM_SHARED_MEMORY is '" + printable(*text) + "', not 0 or 1");
    place.shared_memory = *text == "1" ? SharedMemory::on : SharedMemory::off;
  }
  if (const auto text = environment("FASTGPU_COMM_TRANSPORT")) place.transport = transport(*text);
  place.fabric = fabric_settings(environment, place);
  place.fabric.is_required = requires_fabric(environment, place.fabric);
  if (const auto text = environment("FASTGPU_COMM_ALGORITHM")) place.algorithm = algorithm(*text);
  if (const auto text = environment("FASTGPU_COMM_COLLECTIVES"))
    place.collectives = collectives(*text);
  return place;
}

}  // namespace fastgpu::comm
