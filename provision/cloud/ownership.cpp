#include "provision/cloud/ownership.hpp"

#include <algorithm>
#include <map>

#include "base/ascii.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/time_text.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::size_t kLongestTag = 43;
constexpr std::size_t kTimeDigits = 16;  // "20261122T071800Z"

bool is_there(const Machine& machine) {
  return machine.state != MachineState::ending && machine.state != MachineState::gone &&
         machine.state != MachineState::failed;
}

/// Returns "anna@laptop on 2026-11-22 at 07:18 UTC"; "" for any other text. Earlier versions wrote
/// no user.
std::string taken_text(const std::string& mark) {
  if (mark.size() <= kTimeDigits + 1 || mark[8] != 'T' || mark[kTimeDigits] != '_') return {};
  const auto part = [&](std::size_t at, std::size_t size) { return mark.substr(at, size); };
  std::string who = mark.substr(kTimeDigits + 1);
  if (const auto end = who.rfind('_'); end != std::string::npos) who[end] = '@';
  return printable(who) + " on " + part(0, 4) + "-" + part(4, 2) + "-" + part(6, 2) + " at " +
         part(9, 2) + ":" + part(11, 2) + " UTC";
}

/// Returns the text with '-' for each letter that a cloud may refuse in a tag.
std::string plain(std::string_view text) {
  std::string plain;
  for (const char c : text)
    plain += is_ascii_letter_or_digit(c) || c == '-' || c == '.' ? c : '-';
  return plain;
}

std::string names_in(std::span<const Machine> all) {
  std::set<std::string> names;
  for (const Machine& machine : all)
    if (is_there(machine)) names.insert(machine.marks.cluster_name);
  std::string text;
  for (const std::string& name : names)
    append_item(text, printable(name));
  return text.empty() ? "none" : text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> pairs_of(const Tags& tags) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) pairs.emplace_back(key, value);
  };
  add(kNameTag, tags.cluster_name);
  add(kLaunchedTag, tags.launched_as);
  add(kOwnerTag, tags.owner);
  add(kTakenTag, tags.taken);
  add(kHostKeyTag, tags.host_key);
  return pairs;
}

bool is_owned_by(const Machine& machine, const std::string& owner) {
  return machine.marks.owner.empty() || machine.marks.owner == owner;
}

std::string owner_text(const std::string& owner, const std::string& taken) {
  const std::string directory = "state directory " + printable(owner);
  const std::string who = taken_text(taken);
  return who.empty() ? directory : who + " (" + directory + ")";
}

std::string taken_mark(std::chrono::system_clock::time_point now, std::string_view user,
                       std::string_view host) {
  constexpr std::size_t kLongestUser = 12;  // So that the host has room, too.
  const std::string mark = utc_text(now, "%Y%m%dT%H%M%SZ") + "_" +
                           plain(user.substr(0, kLongestUser)) + "_" + plain(host);
  return mark.substr(0, kLongestTag);
}

std::set<state::ClusterId> clusters_of_others(std::span<const Machine> machines,
                                              const std::string& owner) {
  std::set<state::ClusterId> clusters;
  for (const Machine& machine : machines)
    if (!is_owned_by(machine, owner)) clusters.insert(machine.marks.cluster);
  return clusters;
}

std::string host_key_mark(std::string_view fingerprint) {
  constexpr std::string_view kKind = "SHA256:";
  if (fingerprint.starts_with(kKind)) fingerprint.remove_prefix(kKind.size());
  std::string mark(fingerprint);
  std::ranges::replace(mark, '+', '-');
  std::ranges::replace(mark, '/', '_');
  return mark;
}

std::vector<Machine> machines_named(std::span<const Machine> all, const std::string& name,
                                    const std::string& id) {
  std::map<std::string, std::string> owners;  // Owners by the cluster's identity.
  for (const Machine& machine : all)
    if (machine.marks.cluster_name == name && is_there(machine) &&
        (id.empty() || machine.marks.cluster.value == id))
      owners[machine.marks.cluster.value] = machine.marks.owner;
  std::vector<Machine> meant;
  std::ranges::copy_if(all, std::back_inserter(meant), [&](const Machine& machine) {
    return is_there(machine) && owners.contains(machine.marks.cluster.value);
  });
  if (meant.empty())
    throw Error(ErrorKind::not_found, "no machine carries the mark of cluster '" + printable(name) +
                                          "'" + (id.empty() ? "" : " " + printable(id)) +
                                          "; clusters that have machines: " + names_in(all));
  if (owners.size() == 1) return meant;
  std::string text;
  for (const auto& [cluster, owner] : owners)
    append_item(text, printable(cluster) + " (of state directory " + printable(owner) + ")");
  throw Error(ErrorKind::conflict, "several clusters are called '" + printable(name) +
                                       "': " + text + "; choose one with --id");
}

const Machine& head_of(std::span<const Machine> machines) {
  std::map<int, const Machine*> by_index;
  for (const Machine& machine : machines) {
    if (machine.index < 0)
      throw Error(ErrorKind::conflict, "the node of machine " + machine.id +
                                           " is unknown: its name or its tags were changed");
    if (!by_index.emplace(machine.index, &machine).second)
      throw Error(ErrorKind::conflict, "machines " + by_index[machine.index]->id + " and " +
                                           machine.id + " are both node " +
                                           std::to_string(machine.index) +
                                           ": run `fastgpu gc` where the cluster was created");
  }
  return *by_index.begin()->second;
}

}  // namespace fastgpu::provision::cloud
