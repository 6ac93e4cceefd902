// `access-check`, `access-add` and `access-remove`: the access of a cluster's key to this host.
// `access-identify`: the identity of this host.
#include <unistd.h>

#include <filesystem>

#include "agent/access/authorized_keys.hpp"
#include "agent/access/host_identity.hpp"
#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/hex.hpp"

namespace fastgpu::agent {

int run_access_check(Arguments arguments) {
  OptionReader(arguments).expect_end();
  check_authorized_keys();
  write_all(STDOUT_FILENO, host_identity() + "\n");
  return 0;
}

int run_access_identify(Arguments arguments) {
  OptionReader(arguments).expect_end();
  write_all(STDOUT_FILENO, host_identity() + "\n");
  return 0;
}

int run_access_add(Arguments arguments) {
  OptionReader options(arguments);
  const std::string line = options.take_word("the line");
  options.expect_end();
  if (!line.starts_with("ssh-") || line.find_first_of("\r\n") != std::string::npos)
    throw Error(ErrorKind::usage, "'" + printable(line) + "' is not a line of authorized_keys");
  add_authorized_key(line);
  return 0;
}

int run_access_remove(Arguments arguments) {
  OptionReader options(arguments);
  const std::string mark = options.take_word("the mark");
  const std::string cluster = options.done() ? "" : options.take_word("the cluster");
  options.expect_end();
  if (!cluster.empty() && !is_hex(cluster))
    throw Error(ErrorKind::usage, "'" + printable(cluster) + "' is not a cluster's identity");
  remove_authorized_key(mark);
  // This directory has the key with which this host logged in to the others.
  if (!cluster.empty()) std::filesystem::remove_all(below_home(".fastgpu/clusters") / cluster);
  return 0;
}

}  // namespace fastgpu::agent
