// The text of the files that make a node its own host. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/names.hpp"
#include "provision/providers/local/subnet.hpp"

namespace fastgpu::provision::local {

struct HostsLine {
  Ipv4 address;
  std::string name;
};

/// Returns the cluster's part of /etc/hosts, between two marks.
std::string hosts_block(std::span<const HostsLine> entries);

/// Returns `existing` with its marked part replaced by `block` (or with `block` behind it); the
/// user's own lines are kept.
std::string merge_hosts(std::string_view existing, std::string_view block);

/// Returns a whole /etc/hosts for a node that has none yet.
std::string first_hosts(std::string_view block);

/// Returns sshd's configuration. The cluster's key opens every account and no other key does: not
/// even those in an account's own ~/.ssh, which may come from this machine. One host key, no name
/// look-ups, room for many sessions.
std::string sshd_config();

/// Returns an /etc/shadow for the accounts in the text of /etc/passwd: open to keys, to no
/// password.
std::string shadow_without_passwords(std::string_view passwd);

/// Returns /etc/shadow with the accounts of `users` open to keys. For sshd, a password that begins
/// with '!' means a locked account, and "*" only an impossible password.
std::string unlock_accounts(std::string_view shadow, std::span<const std::string> users);

}  // namespace fastgpu::provision::local
