// The local provider as a program, so that a test can kill it:
//   local-driver ROOT INIT KEYS VERB CLUSTER-ID [COUNT [BITS]]
// KEYS holds "host", "host.pub" and "user.pub". Prints one line for each node or orphan; a failure
// goes to standard error, and the exit status is then 1.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "provision/providers/local/local_provider.hpp"

namespace {

using namespace fastgpu;

std::string text_of(const std::string& path) {
  return read_file(path).value_or("");
}

std::string line_of(const std::string& path) {
  std::string text = text_of(path);
  return text.substr(0, text.find('\n'));
}

const char* word_for(provision::InstanceState state) {
  switch (state) {
    case provision::InstanceState::pending:
      return "pending";
    case provision::InstanceState::running:
      return "running";
    case provision::InstanceState::stopped:
      return "stopped";
    case provision::InstanceState::gone:
      return "gone";
  }
  return "";
}

void print(const provision::Instance& instance) {
  std::printf("%d %s %s\n", instance.index, word_for(instance.state), instance.address.c_str());
}

int print_all(const std::vector<HostResult<provision::Instance>>& results) {
  int failures = 0;
  for (const auto& result : results) {
    if (result.ok()) {
      print(result.value());
    } else {
      std::fprintf(stderr, "%s\n", result.error().what());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}

struct Arguments {
  std::string keys, verb;
  state::Cluster cluster;
  int count = 0;
};

std::vector<provision::NodeRequest> requests_for(const Arguments& arguments) {
  std::vector<provision::NodeRequest> requests;
  for (int index = 0; index < arguments.count; ++index)
    requests.push_back({.index = index,
                        .name = {arguments.cluster.name.value + "-" + std::to_string(index)},
                        .token = "token-" + std::to_string(index),
                        .host_private_key = Secret(text_of(arguments.keys + "/host")),
                        .host_public_key = line_of(arguments.keys + "/host.pub"),
                        .authorized_key = line_of(arguments.keys + "/user.pub")});
  return requests;
}

std::vector<state::Node> nodes_of(const Arguments& arguments) {
  std::vector<state::Node> nodes;
  for (int index = 0; index < arguments.count; ++index)
    nodes.push_back({.cluster = arguments.cluster.id,
                     .index = index,
                     .name = {arguments.cluster.name.value + "-" + std::to_string(index)}});
  return nodes;
}

int orphans(provision::Provider& provider, bool remove) {
  for (const provision::Orphan& orphan : provider.orphans({}).found) {
    std::printf("%s %s\n", to_text(orphan).c_str(), orphan.cluster.value.c_str());
    if (remove) provider.remove_orphan(orphan);
  }
  return 0;
}

int run(provision::Provider& provider, const Arguments& arguments) {
  const Cancel cancel;
  const state::Cluster& cluster = arguments.cluster;
  if (arguments.verb == "create") {
    provider.check_usable();
    provider.prepare(cluster, true);
    return print_all(provider.create(cluster, requests_for(arguments), cancel));
  }
  if (arguments.verb == "list") {
    for (const auto& instance : provider.list(cluster, cancel))
      print(instance);
    return 0;
  }
  if (arguments.verb == "start")
    return print_all(provider.start(cluster, nodes_of(arguments), cancel));
  if (arguments.verb == "stop")
    return print_all(provider.stop(cluster, nodes_of(arguments), cancel));
  if (arguments.verb == "delete") {
    const int code = print_all(provider.destroy(cluster, nodes_of(arguments)));
    provider.release(cluster, {});
    return code;
  }
  if (arguments.verb == "destroy") return print_all(provider.destroy(cluster, nodes_of(arguments)));
  if (arguments.verb == "orphans") return orphans(provider, false);
  if (arguments.verb == "gc") return orphans(provider, true);
  std::fprintf(stderr, "no verb '%s'\n", arguments.verb.c_str());
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) return 2;
  Arguments arguments{.keys = words[3], .verb = words[4], .cluster = {}};
  arguments.cluster.id = {words[5]};
  arguments.cluster.name = {"t" + arguments.cluster.id.value.substr(0, 3)};
  arguments.cluster.user = "root";
  if (count > 7)
    arguments.cluster.provider_spec =
        state::LocalSpec{.link_rate = BitRate{std::strtoull(words[7], nullptr, 10)}};
  arguments.count = count > 6 ? std::atoi(words[6]) : 0;
  try {
    provision::LocalProvider provider({.root = words[1], .init_program = words[2]});
    return run(provider, arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
