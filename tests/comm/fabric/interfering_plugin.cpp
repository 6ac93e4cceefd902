// The plugin for libfabric, with a command of a test in between. FASTGPU_TEST_REAL_PLUGIN is its
// file. FASTGPU_TEST_BEFORE_OPEN is run by the shell before an endpoint is opened that was found,
// FASTGPU_TEST_BEFORE_CONNECT before a peer is added to one that was opened.
#include <dlfcn.h>

#include <cstdlib>

#include "comm/fabric/plugin.hpp"

namespace {

using namespace fastgpu::comm::fabric;

const FabricFunctions* real_functions() {
  const char* const file = std::getenv("FASTGPU_TEST_REAL_PLUGIN");
  void* const plugin = ::dlopen(file == nullptr ? "" : file, RTLD_NOW | RTLD_LOCAL);
  void* const entry = plugin == nullptr ? nullptr : ::dlsym(plugin, kPluginEntry);
  return entry == nullptr ? nullptr : reinterpret_cast<FabricPluginEntry>(entry)();
}

const FabricFunctions* the_real = nullptr;

void run(const char* variable) {
  const char* const command = std::getenv(variable);
  if (command != nullptr && std::system(command) != 0) std::abort();
}

int open(const Offers* offers, std::size_t index, int ranks, Port** made, PortTraits* traits) {
  run("FASTGPU_TEST_BEFORE_OPEN");
  return the_real->open(offers, index, ranks, made, traits);
}

int add_peer(Port* port, const std::uint8_t* address, std::uint64_t* peer) {
  run("FASTGPU_TEST_BEFORE_CONNECT");
  return the_real->add_peer(port, address, peer);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const FabricFunctions*
fastgpu_comm_fabric_plugin() {
  static FabricFunctions functions;
  the_real = real_functions();
  if (the_real == nullptr) return nullptr;
  functions = *the_real;
  functions.open = open;
  functions.add_peer = add_peer;
  return &functions;
}
