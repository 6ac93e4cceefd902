#include "launcher/checks/remedies.hpp"

#include "base/quote.hpp"
#include "base/units.hpp"
#include "ssh/host_key_failure.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kDeleteOldJobs = "fastgpu delete job --older-than 7d";

}  // namespace

Advice advice_on_login(const Error& reason, const std::string& node, const std::string& cluster) {
  const std::string none_starts = "no job can start there";
  if (ssh::is_foreign_host_key(reason))
    return {none_starts + ": the machine was installed anew, or another one has its address",
            "compare the key with that of the machine, at its own console: ssh-keygen -lf "
            "/etc/ssh/ssh_host_ed25519_key.pub; if it is the same: fastgpu start cluster " +
                cluster + " --accept-host-keys"};
  switch (reason.kind()) {
    case ErrorKind::denied:
      return {none_starts,
              "log in with a key of your own: the line that ends in fastgpu-... must be in "
              "~/.ssh/authorized_keys, and sshd must read that file"};
    case ErrorKind::transient:
    case ErrorKind::timeout:
      return {none_starts,
              "see whether the machine is on, its sshd runs and the network lets you in; then: "
              "fastgpu start cluster " +
                  cluster};
    default:
      return {none_starts, "log in by hand: fastgpu ssh " + node};
  }
}

Advice advice_on_agent(const Error& reason) {
  const std::string why = "the agent starts the ranks of jobs";
  if (reason.kind() == ErrorKind::capacity)
    return {why, std::string("free some space in the home directory there: ") + kDeleteOldJobs};
  if (reason.kind() == ErrorKind::transient)
    return {why, "look at the settings of sshd there (MaxSessions, MaxStartups), and try again"};
  return {why, "make the home directory writable, and mount it without noexec"};
}

Advice advice_on_full_disk(const CheckedDisk& disk, const CheckedDisk& home,
                           const std::string& node) {
  if (disk.place == kSharedMemory)
    return {"ranks of one node exchange data there", "remove old files there, or mount it larger"};
  if (disk.place == home.place || disk.device == home.device)
    return {"logs, files of --sync and temporary files go there",
            std::string("free some space there: ") + kDeleteOldJobs};
  const std::string script = "du -xah " + shell_quote(disk.place) + " | sort -h | tail";
  return {"mpirun and programs put temporary files there",
          "it is a file system of its own, without files of jobs: remove what this shows: fastgpu "
          "exec " +
              node + " -- sh -c " + shell_quote(script)};
}

LittleRoom little_room(const CheckedDisk& disk, Bytes need, const Advice& full) {
  const std::string free = to_string(disk.free) + " free of " + to_string(disk.size);
  const bool is_small = disk.size.count > 0 && disk.size < need;
  if (!is_small) return {.found = free + " at " + disk.place, .remedy = full.remedy};
  return {.found = "the file system at " + disk.place + " is small (" + free +
                   "), and jobs may need " + to_string(need),
          .remedy = "make it larger (a tmpfs: mount -o remount,size=" +
                    std::to_string((need.count >> 20U) + 1) + "M " + shell_quote(disk.place) + ")"};
}

}  // namespace fastgpu::launcher
