// Whose a cluster's machines are, read from what is written on them. Pure.
#pragma once

#include <set>
#include <span>
#include <string>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Whether the state directory of that mark made the machine, or took it over last. One that
/// carries no mark is everybody's.
bool is_owned_by(const Machine& machine, const std::string& owner);

/// "state directory 1a2b3c4d (on laptop, 2026-11-22 07:18:00Z)"
std::string owner_text(const Machine& machine);

/// Tags::taken for a machine of that name: "20261122T071800Z_laptop".
std::string taken_mark(std::chrono::system_clock::time_point now, std::string_view host);

/// Clusters of which some machine is another's than `owner`.
std::set<state::ClusterId> clusters_of_others(std::span<const Machine> machines,
                                              const std::string& owner);

/// The digest of a host key ("SHA256:...", as ssh-keygen shows it) as a tag: the letters of base64
/// that not every cloud takes are replaced by those of its URL-safe form.
std::string host_key_mark(std::string_view fingerprint);

/// The machines of the one cluster that is meant by its name, or, where several have it, by its
/// identity too: all of them, also those from before or after it was renamed. Those that are ending
/// are left out. Throws not_found with the names that there
/// are, conflict where the identity is needed.
std::vector<Machine> machines_named(std::span<const Machine> all, const std::string& name,
                                    const std::string& id);

/// The machine with the lowest index: it keeps the cluster's record. Throws conflict where one node
/// has several machines, or a machine is no node's.
const Machine& head_of(std::span<const Machine> machines);

}  // namespace fastgpu::provision::cloud
