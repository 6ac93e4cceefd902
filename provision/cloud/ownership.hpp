// The ownership of a cluster's machines, read from their marks. Pure.
#pragma once

#include <set>
#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Returns true if the state directory with that mark made the machine, or took it over last. A
/// machine without a mark belongs to every owner.
bool is_owned_by(const Machine& machine, const std::string& owner);

/// Returns "anna@laptop on 2026-11-22 at 07:18 UTC (state directory 1a2b3c4d)", from the mark of
/// an owner and Tags::taken; "state directory 1a2b3c4d" if `taken` is empty or unknown.
std::string owner_text(const std::string& owner, const std::string& taken);

/// Returns Tags::taken for a takeover by a user of the machine `host`:
/// "20261122T071800Z_anna_laptop".
std::string taken_mark(std::chrono::system_clock::time_point now, std::string_view user,
                       std::string_view host);

/// Returns the clusters that have a machine of an owner other than `owner`.
std::set<state::ClusterId> clusters_of_others(std::span<const Machine> machines,
                                              const std::string& owner);

/// Returns the digest of a host key ("SHA256:...", as ssh-keygen shows it) as a tag. The letters of
/// base64 that not every cloud accepts are replaced by those of its URL-safe form.
std::string host_key_mark(std::string_view fingerprint);

/// Returns the machines of the only cluster with that name, or, if several clusters have it, of the
/// one that also has that identity. Includes machines of the cluster that carry an earlier or a
/// later name. Leaves out machines that are ending. Throws not_found, with the existing names, or
/// conflict if the identity is needed.
std::vector<Machine> machines_named(std::span<const Machine> all, const std::string& name,
                                    const std::string& id);

/// Returns the machine with the lowest index, which keeps the cluster's record. Throws conflict if
/// one node has several machines, or a machine belongs to no node.
const Machine& head_of(std::span<const Machine> machines);

}  // namespace fastgpu::provision::cloud
