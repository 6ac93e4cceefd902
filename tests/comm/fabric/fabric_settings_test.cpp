// Which of the networks that a machine offers is taken.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "comm/fabric/fabric_settings.hpp"

namespace fastgpu::comm::fabric {
namespace {

FabricOffer offer(const std::string& provider, const std::string& device,
                  const std::string& address, bool is_hardware) {
  FabricOffer made;
  std::strncpy(made.provider, provider.c_str(), sizeof(made.provider) - 1);
  std::strncpy(made.device, device.c_str(), sizeof(made.device) - 1);
  std::strncpy(made.address, address.c_str(), sizeof(made.address) - 1);
  made.is_hardware = is_hardware ? 1 : 0;
  made.has_writes = 1;
  return made;
}

const std::vector<FabricOffer> kMachine{offer("tcp;ofi_rxm", "eth0", "10.0.0.1", false),
                                        offer("net;ofi_rxm", "eth0", "10.0.0.1", false),
                                        offer("net", "eth0", "10.0.0.1", false),
                                        offer("net", "lo", "127.0.0.1", false),
                                        offer("net", "eth1", "10.1.0.1", false),
                                        offer("sockets", "eth0", "10.0.0.1", false),
                                        offer("shm", "shm", "", false)};

std::vector<FabricOffer> with(const FabricOffer& more) {
  std::vector<FabricOffer> all = kMachine;
  all.push_back(more);
  return all;
}

std::string chosen(const std::vector<FabricOffer>& offers, const FabricSettings& settings,
                   const std::string& near = "10.0.0.1") {
  const auto index = choose(offers, settings, near);
  return index ? std::string(offers[*index].provider) + " " + offers[*index].device : "";
}

TEST_SUITE_BEGIN("comm/fabric_settings");

TEST_CASE("hardware is taken unasked, and software is not") {
  const FabricSettings welcome{.need = FabricNeed::welcome};
  CHECK(chosen(kMachine, welcome).empty());
  const auto verbs = with(offer("verbs;ofi_rxm", "mlx5_0", "10.0.0.1", true));
  CHECK(chosen(verbs, welcome) == "verbs;ofi_rxm mlx5_0");
  CHECK(chosen(with(offer("psm2", "hfi1_0", "", true)), welcome) == "psm2 hfi1_0");
}

TEST_CASE("among devices that lead nowhere in particular the nearest is taken") {
  std::vector<FabricOffer> devices;
  for (const char* const device : {"mlx5_1", "mlx5_10", "mlx5_2"})
    devices.push_back(offer("verbs;ofi_rxm", device, "10.2.0.1", true));
  const auto chosen_near = [&](const std::string& address, const std::string& nearest) {
    const auto index = choose(devices, {.need = FabricNeed::welcome}, address, nearest);
    return std::string(devices[index.value()].device);
  };
  CHECK(chosen_near("10.0.0.1", "") == "mlx5_1");
  CHECK(chosen_near("10.0.0.1", "mlx5_2") == "mlx5_2");
  CHECK(chosen_near("10.0.0.1", "mlx5_10") == "mlx5_10");
  CHECK(chosen_near("10.0.0.1", "mlx5_7") == "mlx5_1");
  // The address on the way to rank 0 counts more.
  devices.push_back(offer("verbs;ofi_rxm", "mlx5_3", "10.0.0.1", true));
  CHECK(chosen_near("10.0.0.1", "mlx5_2") == "mlx5_3");
  // EFA's devices have a longer name here.
  devices = {offer("efa", "rdmap0s6-rdm", "", true), offer("efa", "rdmap0s7-rdm", "", true)};
  CHECK(chosen_near("10.0.0.1", "rdmap0s7") == "rdmap0s7-rdm");
}

TEST_CASE("the best provider is taken where a fabric is a must") {
  const FabricSettings must{.need = FabricNeed::must};
  CHECK(chosen(kMachine, must) == "net eth0");
  CHECK(chosen(with(offer("tcp", "eth0", "10.0.0.1", false)), must) == "tcp eth0");
  CHECK(chosen(with(offer("verbs;ofi_rxm", "mlx5_0", "10.2.0.1", true)), must) ==
        "verbs;ofi_rxm mlx5_0");
  CHECK(chosen({kMachine.back(), offer("udp;ofi_rxd", "eth0", "10.0.0.1", false)}, must).empty());
}

TEST_CASE("the device that leads to the other ranks is preferred, unless another is named") {
  CHECK(chosen(kMachine, {.need = FabricNeed::must}, "10.1.0.1") == "net eth1");
  CHECK(chosen(kMachine, {.need = FabricNeed::must}, "127.0.0.1") == "net lo");
  CHECK(chosen(kMachine, {.need = FabricNeed::must}, "") == "net eth0");
  CHECK(chosen(kMachine, {.need = FabricNeed::must, .device = "eth1"}) == "net eth1");
  CHECK(chosen(kMachine, {.need = FabricNeed::must, .device = "eth7"}).empty());
}

TEST_CASE("a provider is named in full, or without its layer") {
  const auto named = [](const std::string& provider) {
    return chosen(kMachine, {.need = FabricNeed::welcome, .provider = provider});
  };
  CHECK(named("net") == "net eth0");
  CHECK(named("net;ofi_rxm") == "net;ofi_rxm eth0");
  CHECK(named("tcp") == "tcp;ofi_rxm eth0");
  CHECK(named("shm") == "shm shm");
  CHECK(named("ne").empty());
}

TEST_CASE("a provider or a device that is named is asked for, unless no fabric is wanted") {
  CHECK(is_asked_for({.need = FabricNeed::must}));
  CHECK_FALSE(is_asked_for({.need = FabricNeed::welcome}));
  CHECK(is_asked_for({.need = FabricNeed::welcome, .provider = "net"}));
  CHECK(is_asked_for({.need = FabricNeed::welcome, .device = "mlx5_0"}));
  CHECK_FALSE(is_asked_for({.need = FabricNeed::none, .device = "mlx5_0"}));
}

TEST_CASE("bytes are put in the best way that a provider has") {
  FabricOffer one = offer("verbs;ofi_rxm", "mlx5_0", "", true);
  one.data_bytes = 4;
  one.orders_sends = 1;
  CHECK(best_put(one, 117) == Put::with_data);
  FabricOffer over_tcp = offer("tcp;ofi_rxm", "eth0", "10.0.0.1", false);
  over_tcp.data_bytes = 4;
  over_tcp.orders_sends = 1;
  CHECK(can(over_tcp, Put::with_data));
  CHECK(best_put(over_tcp, 117) == Put::then_send);
  one.data_bytes = 0;  // As of iWARP.
  CHECK(best_put(one, 117) == Put::then_send);
  CHECK_FALSE(can(one, Put::with_data));
  one.orders_sends = 0;
  CHECK(best_put(one, 117) == Put::none);
  one.reports_delivery = 1;
  CHECK(best_put(one, 117) == Put::delivered);
  one.has_writes = 0;
  for (const Put put : {Put::with_data, Put::then_send, Put::delivered})
    CHECK_FALSE(can(one, put));
  FabricOffer efa = offer("efa", "rdmap0s6", "", true);
  efa.reports_delivery = 1;
  CHECK(best_put(efa, 117) == Put::none);
  CHECK(best_put(efa, 118) == Put::delivered);
}

TEST_CASE("every way of putting has a name") {
  for (const Put put : kPuts)
    CHECK(put_named(name_of(put)) == put);
  CHECK_FALSE(put_named("d"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::fabric
