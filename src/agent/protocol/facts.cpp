#include "agent/protocol/facts.hpp"

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {

std::string to_text(const JobNodeFacts& facts) {
  Records records;
  records.add("host", facts.host);
  records.add("home", facts.home);
  records.add("root", facts.root ? 1 : 0);
  records.add("cores", facts.cores);
  records.add("boot_id", facts.boot_id);
  records.add("mpirun", facts.mpirun);
  records.add("mpirun_version", facts.mpirun_version);
  if (!facts.has_daemon) records.add("no_daemon", 1);
  for (const std::string& address : facts.addresses)
    records.add("address", address);
  records.add("ssh_address", facts.ssh_address);
  records.add("rdma_device", facts.rdma_device);
  records.add("rdma_obstacle", facts.rdma_obstacle);
  for (const NpuDevice& npu : facts.npus)
    records.add("npu", std::to_string(npu.device) + " " + npu.address);
  return records.text();
}

namespace {

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
          .has_daemon = records.all("no_daemon").empty(),
          .addresses = records.all("address"),
          .ssh_address = records.get("ssh_address"),
          .rdma_device = records.get("rdma_device"),
          .rdma_obstacle = records.get("rdma_obstacle"),
          .npus = npus_in(records)};
}

}  // namespace fastgpu::agent
