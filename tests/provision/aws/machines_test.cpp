#include "provision/providers/aws/machines.hpp"

#include <doctest/doctest.h>

#include <map>

#include "base/error.hpp"
#include "provision/providers/aws/xml.hpp"

namespace fastgpu::provision::aws {
namespace {

std::map<std::string, std::string> parameters_of(const cloud::Launch& wanted) {
  std::map<std::string, std::string> named;
  for (const auto& [name, value] : launch_parameters(wanted))
    CHECK(named.emplace(name, value).second);
  return named;
}

TEST_SUITE_BEGIN("provision/aws");

TEST_CASE("a launch that wishes for no disk leaves them to the image") {
  CHECK_FALSE(parameters_of({}).contains("BlockDeviceMapping.1.DeviceName"));
}

TEST_CASE("a data disk is a device of its own that goes with its machine") {
  const auto alone = parameters_of({.data_disk = {500, ""}});
  CHECK(alone.at("BlockDeviceMapping.1.DeviceName") == "/dev/sdf");
  CHECK(alone.at("BlockDeviceMapping.1.Ebs.VolumeSize") == "500");
  CHECK(alone.at("BlockDeviceMapping.1.Ebs.VolumeType") == "gp3");
  CHECK(alone.at("BlockDeviceMapping.1.Ebs.DeleteOnTermination") == "true");
  const auto both = parameters_of({.disk_gib = 100, .data_disk = {500, "io2"}});
  CHECK(both.at("BlockDeviceMapping.1.DeviceName") == "/dev/sda1");
  CHECK(both.at("BlockDeviceMapping.1.Ebs.VolumeType") == "gp3");
  CHECK(both.at("BlockDeviceMapping.2.DeviceName") == "/dev/sdf");
  CHECK(both.at("BlockDeviceMapping.2.Ebs.VolumeType") == "io2");
}

TEST_CASE("adapters are asked for on the cards that have them, by their numbers") {
  cloud::Launch wanted{.rdma = true, .rdma_interfaces = 3, .has_public_address = false};
  auto named = parameters_of(wanted);
  CHECK(named.at("NetworkInterface.1.InterfaceType") == "efa");
  CHECK(named.at("NetworkInterface.3.NetworkCardIndex") == "2");
  CHECK(named.at("NetworkInterface.3.InterfaceType") == "efa");
  CHECK_FALSE(named.contains("NetworkInterface.4.DeviceIndex"));
  wanted.rdma_cards = {1, 2, 3};
  named = parameters_of(wanted);
  CHECK(named.at("NetworkInterface.1.DeviceIndex") == "0");
  CHECK_FALSE(named.contains("NetworkInterface.1.InterfaceType"));
  CHECK_FALSE(named.contains("NetworkInterface.1.NetworkCardIndex"));
  CHECK(named.at("NetworkInterface.2.NetworkCardIndex") == "1");
  CHECK(named.at("NetworkInterface.2.InterfaceType") == "efa-only");
  CHECK(named.at("NetworkInterface.4.NetworkCardIndex") == "3");
  CHECK(named.at("NetworkInterface.4.DeviceIndex") == "1");
}

TEST_CASE("a machine out of a reservation names it, and its market where it is a block") {
  const cloud::Launch wanted{.reservation = "cr-1"};
  const std::string target =
      "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId";
  CHECK_FALSE(parameters_of({}).contains(target));
  CHECK(parameters_of(wanted).at(target) == "cr-1");
  CHECK_FALSE(parameters_of(wanted).contains("InstanceMarketOptions.MarketType"));
  std::map<std::string, std::string> block;
  for (const auto& [name, value] : launch_parameters(wanted, true))
    block[name] = value;
  CHECK(block.at("InstanceMarketOptions.MarketType") == "capacity-block");
}

TEST_CASE("the system disk is the image's own root device") {
  const auto named = parameters_of({.disk_gib = 100, .root_device = "/dev/xvda"});
  CHECK(named.at("BlockDeviceMapping.1.DeviceName") == "/dev/xvda");
}

TEST_CASE("an address that is none is an error of the cloud") {
  const auto document = parse_xml(
      "<R><instancesSet><item><instanceId>i-1</instanceId><ipAddress>1.2.3.4&#10;ProxyCommand "
      "x</ipAddress></item></instancesSet></R>");
  REQUIRE(document);
  CHECK_THROWS_WITH_AS(machines_in(document->document_element(), "us-east-1"),
                       doctest::Contains("aws: machine i-1"), Error);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::aws
