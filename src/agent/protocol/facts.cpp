#include "agent/protocol/facts.hpp"

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {

namespace {

Records records_of(const RdmaGid& gid) {
  Records records;
  records.add("index", gid.index);
  records.add("gid", gid.gid);
  records.add("type", gid.type);
  records.add("interface", gid.interface);
  return records;
}

Records records_of(const RdmaPort& port) {
  Records records;
  records.add("device", port.device);
  records.add("number", port.number);
  records.add("state", port.state);
  records.add("driver", port.driver);
  records.add("link_layer", port.link_layer);
  records.add("mbit", port.mbit);
  records.add("interface", port.interface);
  if (port.numa_node) records.add("numa_node", *port.numa_node);
  for (const RdmaGid& gid : port.gids)
    records.add("gid", records_of(gid));
  return records;
}

}  // namespace

std::string to_text(const JobNodeFacts& facts) {
  Records records;
  records.add("host", facts.host);
  records.add("home", facts.home);
  records.add("root", facts.root ? 1 : 0);
  records.add("cores", facts.cores);
  records.add("boot_id", facts.boot_id);
  records.add("mpirun", facts.mpirun);
  records.add("mpirun_version", facts.mpirun_version);
  if (facts.is_mpirun_silent) records.add("mpirun_silent", 1);
  if (!facts.has_daemon) records.add("no_daemon", 1);
  for (const std::string& setting : facts.mpi_parameters)
    records.add("mpi_parameter", setting);
  if (!facts.has_torchrun) records.add("no_torchrun", 1);
  if (!facts.torchrun_obstacle.empty()) records.add("torchrun_obstacle", facts.torchrun_obstacle);
  for (const std::string& address : facts.addresses)
    records.add("address", address);
  for (const int mtu : facts.mtus)
    records.add("mtu", mtu);
  records.add("ssh_address", facts.ssh_address);
  records.add("ssh_version", facts.ssh_version);
  records.add("rdma_device", facts.rdma_device);
  records.add("rdma_obstacle", facts.rdma_obstacle);
  for (const NpuDevice& npu : facts.npus)
    records.add("npu", std::to_string(npu.device) + " " + npu.address);
  for (const RdmaPort& port : facts.rdma_ports)
    records.add("rdma_port", records_of(port));
  return records.text();
}

namespace {

constexpr std::size_t kMaxRdmaPorts = 256;
constexpr std::size_t kMaxRdmaText = 256;

[[noreturn]] void refuse_port(const std::string& why) {
  throw Error(ErrorKind::remote, "sends node facts with an RDMA port that " + why);
}

/// Returns a name or a state of a port. Throws remote for one that no kernel writes.
std::string text_in(const Records& records, std::string_view key) {
  std::string text = records.get(key);
  if (text.size() > kMaxRdmaText) refuse_port("has a long " + std::string(key));
  return text;
}

/// Returns a number of a port. Throws remote if it is below 0 or above `most`.
std::int64_t number_in(const Records& records, std::string_view key, std::int64_t most) {
  const std::int64_t number = records.number(key);
  if (number < 0 || number > most)
    refuse_port("has '" + std::to_string(number) + "' as " + std::string(key));
  return number;
}

RdmaGid gid_in(const Records& records) {
  constexpr std::int64_t kMaxIndex = 65'535;
  return {.index = static_cast<int>(number_in(records, "index", kMaxIndex)),
          .gid = text_in(records, "gid"),
          .type = text_in(records, "type"),
          .interface = text_in(records, "interface")};
}

RdmaPort port_in(const Records& records) {
  constexpr std::int64_t kMaxMbit = 1'000'000'000;
  constexpr std::int64_t kMaxNode = 65'535;
  RdmaPort port{.device = text_in(records, "device"),
                .number = text_in(records, "number"),
                .state = text_in(records, "state"),
                .driver = text_in(records, "driver"),
                .link_layer = text_in(records, "link_layer"),
                .mbit = number_in(records, "mbit", kMaxMbit),
                .interface = text_in(records, "interface")};
  if (!records.all("numa_node").empty())
    port.numa_node = static_cast<int>(number_in(records, "numa_node", kMaxNode));
  for (const Records& gid : records.nested("gid", "an address of an RDMA port"))
    port.gids.push_back(gid_in(gid));
  if (port.gids.size() > kMaxGids) refuse_port("has too many addresses");
  port.has_address = !port.gids.empty();
  return port;
}

std::vector<RdmaPort> rdma_ports_in(const Records& records) {
  std::vector<RdmaPort> ports;
  for (const Records& port : records.nested("rdma_port", "an RDMA port")) {
    if (ports.size() == kMaxRdmaPorts) refuse_port("is one of too many");
    ports.push_back(port_in(port));
  }
  return ports;
}

std::vector<int> mtus_in(const Records& records) {
  std::vector<int> mtus;
  for (const std::string& text : records.all("mtu")) {
    const auto mtu = to_number<int>(text);
    if (!mtu || *mtu < 0)
      throw Error(ErrorKind::remote, "sends node facts with the MTU '" + printable(text) + "'");
    mtus.push_back(*mtu);
  }
  return mtus;
}

/// Parses entries such as "0 192.168.100.101"; without an address, "0 ".
std::vector<NpuDevice> npus_in(const Records& records) {
  std::vector<NpuDevice> npus;
  for (const std::string& entry : records.all("npu")) {
    const auto space = entry.find(' ');
    const auto device = to_number<int>(std::string_view(entry).substr(0, space));
    if (space == entry.npos || !device || *device < 0)
      throw Error(ErrorKind::remote,
                  "sends node facts with the processor '" + printable(entry) + "'");
    npus.push_back({.device = *device, .address = entry.substr(space + 1)});
  }
  return npus;
}

}  // namespace

JobNodeFacts parse_node_facts(std::string_view text) {
  const Records records(text, "node facts");
  return {.host = records.get("host"),
          .home = records.get("home"),
          .root = records.number("root") != 0,
          .cores = static_cast<int>(records.number("cores")),
          .boot_id = records.get("boot_id"),
          .mpirun = records.get("mpirun"),
          .mpirun_version = records.get("mpirun_version"),
          .is_mpirun_silent = !records.all("mpirun_silent").empty(),
          .has_daemon = records.all("no_daemon").empty(),
          .mpi_parameters = records.all("mpi_parameter"),
          .has_torchrun = records.all("no_torchrun").empty(),
          .torchrun_obstacle =
              records.all("torchrun_obstacle").empty() ? "" : records.get("torchrun_obstacle"),
          .addresses = records.all("address"),
          .mtus = mtus_in(records),
          .ssh_address = records.get("ssh_address"),
          .ssh_version = records.get("ssh_version"),
          .rdma_device = records.get("rdma_device"),
          .rdma_obstacle = records.get("rdma_obstacle"),
          .npus = npus_in(records),
          .rdma_ports = rdma_ports_in(records)};
}

}  // namespace fastgpu::agent
