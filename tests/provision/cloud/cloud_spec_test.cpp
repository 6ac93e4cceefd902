#include "provision/cloud/cloud_spec.hpp"

#include <doctest/doctest.h>

#include "support/sample_cloud_spec.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::sample_cloud_spec;

TEST_CASE(
    "what differs from the cluster that is there is named, and new prices are no difference") {
  CloudSpec other = sample_cloud_spec();
  CHECK(difference(sample_cloud_spec(), other).empty());
  other.places.front().price_per_hour->amount = 99;
  CHECK(difference(sample_cloud_spec(), other).empty());
  other.request.gpus = 4;
  CHECK(difference(sample_cloud_spec(), other) == "with GPUs A100:8, not A100:4");
  other = sample_cloud_spec();
  other.request.market = Market::on_demand;
  CHECK(difference(sample_cloud_spec(), other) == "with market spot, not on-demand");
  other = sample_cloud_spec();
  other.public_address = PublicAddress::head;
  CHECK(difference(sample_cloud_spec(), other) == "with public addresses all, not head");
  other = sample_cloud_spec();
  other.region = "";
  CHECK(difference(sample_cloud_spec(), other) == "with region us-east-1, not any");
}

TEST_CASE("another data disk makes another cluster; a mount that it has beside others does not") {
  CloudSpec other = sample_cloud_spec();
  other.request.data_disk = {};
  CHECK(difference(sample_cloud_spec(), other) == "with data disk 500:gp3, not none");
  other = sample_cloud_spec();
  other.mounts.clear();
  CHECK(difference(sample_cloud_spec(), other).empty());
  other.mounts = {{"10.0.0.4:/models", "/elsewhere"}};
  CHECK(difference(sample_cloud_spec(), other) ==
        "without 10.0.0.4:/models at /elsewhere (`fastgpu mount` adds it)");
}

TEST_CASE("what nodes are to have is mounted as their cloud recommends") {
  const Storage storage = storage_of(sample_cloud_spec(), "aws");
  CHECK(storage.has_data_disk);
  CHECK(storage.mounts == sample_cloud_spec().mounts);
  CHECK(storage.nfs_options.find("nfsvers=4.1") != std::string::npos);
  CHECK(storage_of(sample_cloud_spec(), "huawei").nfs_options ==
        "vers=3,timeo=600,noresvport,nolock,tcp");
  CHECK(storage_of({}, "aws").is_empty());
}

TEST_CASE("every request that a repeated creation changes is told as a difference") {
  const CloudSpec there = sample_cloud_spec();
  CloudSpec wanted = there;
  CHECK(difference(there, wanted).empty());
  wanted.ssh_from.clear();
  CHECK(difference(there, wanted).empty());
  wanted.ssh_from = {IpRange::parse("198.51.100.0/24")};
  CHECK(difference(there, wanted) ==
        "and does not let 198.51.100.0/24 log in (`fastgpu addip` adds it)");
  const auto differs = [&](auto change) {
    CloudSpec other = there;
    change(other);
    return !difference(there, other).empty();
  };
  CHECK(differs([](CloudSpec& s) { s.disk_gib = 200; }));
  CHECK(differs([](CloudSpec& s) { s.rdma = false; }));
  CHECK(differs([](CloudSpec& s) { s.ssh_keys = {"ssh-ed25519 AAAA"}; }));
  CHECK(differs([](CloudSpec& s) { s.key_pairs = {"mine"}; }));
  CHECK(differs([](CloudSpec& s) { s.request.max_price = Money{20.5, kCny}; }));
}

}  // namespace
}  // namespace fastgpu::provision::cloud
