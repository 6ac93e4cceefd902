// The pure texts of the local provider: hosts, shadow, the boot order, names of links.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "provision/providers/local/cluster_network.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/order.hpp"
#include "provision/providers/local/records.hpp"
#include "support/failure.hpp"

using namespace fastgpu;
using namespace fastgpu::provision::local;

namespace {

std::string block_of(const char* name) {
  const std::vector<HostsLine> entries = {{{0x0a40000aU}, name}};
  return hosts_block(entries);
}

}  // namespace

TEST_CASE("the cluster's lines replace their older selves and leave the user's alone") {
  const std::string first = first_hosts(block_of("demo-0")) + "10.0.0.9 mine\n";
  const std::string second = merge_hosts(first, block_of("demo-1"));
  CHECK(second.find("demo-0") == second.npos);
  CHECK(second.find("10.64.0.10 demo-1\n") != second.npos);
  CHECK(second.find("10.0.0.9 mine\n") != second.npos);
  CHECK(second.starts_with("127.0.0.1 localhost\n"));
  CHECK(merge_hosts(second, block_of("demo-1")) == second);
}

TEST_CASE("a hosts file whose marks are gone gets the cluster's lines at its end") {
  CHECK(merge_hosts("127.0.0.1 me", block_of("n")) == "127.0.0.1 me\n" + block_of("n"));
  CHECK(merge_hosts("", block_of("n")) == block_of("n"));
}

TEST_CASE("a mark that stands alone among the hosts takes nothing with it") {
  const std::string begin = block_of("n").substr(0, block_of("n").find('\n') + 1);
  const std::string end = "# End of the cluster's hosts\n";
  for (const std::string& text : {begin + "10.0.0.1 kept\n", end + "10.0.0.1 kept\n",
                                  block_of("old") + "10.0.0.1 kept\n" + begin}) {
    const std::string once = merge_hosts(text, block_of("n"));
    CHECK(once.find("10.0.0.1 kept\n") != std::string::npos);
    CHECK(merge_hosts(once, block_of("n")) == once);
  }
}

TEST_CASE("an account that is locked by its password opens to keys, and only that one") {
  const std::vector<std::string> users = {"root", "ann"};
  const std::string shadow = "root:!:1:0::::\nann:!$6$x:1:0::::\nbob:!:1:::::\ncy:$6$y:1:::::\n";
  CHECK(unlock_accounts(shadow, users) ==
        "root:*:1:0::::\nann:*:1:0::::\nbob:!:1:::::\ncy:$6$y:1:::::\n");
}

TEST_CASE("sshd of a node takes the cluster's key and none from an account's home") {
  const std::string config = sshd_config();
  CHECK(config.find("AuthorizedKeysFile /etc/fastgpu/authorized_keys\n") != config.npos);
  CHECK(config.find("AuthenticationMethods publickey\n") != config.npos);
  CHECK(config.find(".ssh") == config.npos);
}

TEST_CASE("a boot order is read back as it was written") {
  BootOrder order{.directory = "/x/a=b,\nc",
                  .node_name = "demo-3",
                  .address = "10.64.0.13",
                  .port_name = "fg0a1b2c3d-3",
                  .bridge = 17,
                  .link_rate = "1000",
                  .sshd = "/usr/sbin/sshd",
                  .fuse_overlayfs = "/usr/bin/fuse-overlayfs",
                  .overlays = {{"/", "/s/root"}, {"/home", "/s/%2Fhome"}},
                  .hidden = {"/one", "/two"}};
  const BootOrder back = decode(encode(order));
  CHECK(back.directory == order.directory);
  CHECK(back.bridge == 17);
  CHECK(back.fuse_overlayfs == order.fuse_overlayfs);
  REQUIRE(back.overlays.size() == 2);
  CHECK(back.overlays[1].point == "/home");
  CHECK(back.overlays[1].storage == "/s/%2Fhome");
  CHECK(back.hidden == order.hidden);
  CHECK(test::failure_of([] { decode("nonsense"); }).kind() == ErrorKind::internal);
}

TEST_CASE("names of links fit the kernel's 15 characters and are read back") {
  CHECK(port_name("0a1b2c3d", 239).size() <= 15);
  CHECK(cluster_of_bridge(bridge_name("0a1b2c3d")) == "0a1b2c3d");
  CHECK(cluster_of_bridge("eth0").empty());
  CHECK(cluster_of_bridge(port_name("0a1b2c3d", 1)).empty());
}

TEST_CASE("the mark of a bridge fits into its alias, however long the path is") {
  CHECK(bridge_mark("0a1b2c3d", "/" + std::string(400, 'x')).size() == 254);
}
