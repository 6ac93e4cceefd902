#include "agent/protocol/facts.hpp"

#include "agent/protocol/records.hpp"

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
  return records.text();
}

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
          .rdma_obstacle = records.get("rdma_obstacle")};
}

}  // namespace fastgpu::agent
