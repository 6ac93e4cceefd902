#include "provision/cloud/user_data.hpp"

#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include "ssh/keys.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

FirstBoot boot_of(const std::string& user) {
  return {.user = user,
          .authorized_keys = {"ssh-ed25519 AAAA", "ssh-ed25519 USERS"},
          .host_private_key = Secret("-----BEGIN\n\"quoted\" 'text'\n-----END\n"),
          .host_public_key = "ssh-ed25519 HOST"};
}

YAML::Node parsed(const FirstBoot& boot) {
  const Secret text = user_data(boot);
  CHECK(text.reveal().starts_with("#cloud-config\n"));
  return YAML::Load(text.reveal());
}

TEST_CASE("a machine is told its host key and who may log in, in YAML that any byte survives") {
  const FirstBoot boot = boot_of("root");
  const YAML::Node data = parsed(boot);
  CHECK(data["ssh_keys"]["ed25519_private"].as<std::string>() == boot.host_private_key.reveal());
  CHECK(data["ssh_keys"]["ed25519_public"].as<std::string>() == "ssh-ed25519 HOST");
  CHECK(data["disable_root"].as<bool>() == false);
  CHECK(data["ssh_pwauth"].as<bool>() == false);
  REQUIRE(data["users"].size() == 1);
  CHECK(data["users"][0]["name"].as<std::string>() == "root");
  CHECK(data["users"][0]["ssh_authorized_keys"][0].as<std::string>() == "ssh-ed25519 AAAA");
  CHECK(!data["users"][0]["sudo"]);
}

TEST_CASE("a user who is not root may become it, and root may not log in") {
  const YAML::Node data = parsed(boot_of("ubuntu"));
  CHECK(data["disable_root"].as<bool>() == true);
  CHECK(data["users"][0]["sudo"].as<std::string>() == "ALL=(ALL) NOPASSWD:ALL");
}

TEST_CASE("a machine with a data disk looks after it at each boot, without a word of a shell") {
  FirstBoot boot = boot_of("root");
  CHECK(!parsed(boot)["bootcmd"]);
  boot.data_disk_gib = 500;
  const YAML::Node data = parsed(boot);
  REQUIRE(data["bootcmd"].size() == 1);
  const auto words = data["bootcmd"][0].as<std::vector<std::string>>();
  REQUIRE(words.size() == 6);
  CHECK(words[4] == "500");
  CHECK(words[5] == "/data");
  CHECK(user_data(boot).reveal().size() < 8192);
}

TEST_CASE("more keys than a cloud takes at a first boot are refused before anything is made") {
  const std::vector<std::string> few(40, "ssh-ed25519 " + std::string(68, 'A'));
  CHECK_NOTHROW(check_first_boot(few, 0, 500, 16384, "aws"));
  const std::vector<std::string> many(200, few.front());
  CHECK(test::failure_of([&] { check_first_boot(few, 16, 500, 16384, "aws"); }).kind() ==
        ErrorKind::usage);
  const Error e = test::failure_of([&] { check_first_boot(many, 0, 0, 16384, "aws"); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(test::mentions(e, "200 --ssh-key and 0 --key-pair are too many"));
  CHECK(test::mentions(e, "aws takes 16384"));
}

TEST_CASE("what is reckoned with for keys is no less than what a first boot has") {
  FirstBoot boot = boot_of("ubuntu");
  const KeyPair pair = ssh::generate_key_pair("t-0");
  boot.host_private_key = pair.private_key;
  boot.host_public_key = pair.public_key;
  boot.authorized_keys = {pair.public_key};
  boot.shut_down_after = std::chrono::hours(8);
  boot.data_disk_gib = 500;
  CHECK_NOTHROW(check_first_boot({}, 0, 500, 16384, "aws"));
  const std::size_t size = user_data(boot).reveal().size();
  CHECK(test::failure_of([&] { check_first_boot({}, 0, 500, size, "aws"); }).kind() ==
        ErrorKind::usage);
}

TEST_CASE("a machine with a limited life shuts itself down, counted in whole minutes") {
  FirstBoot boot = boot_of("root");
  boot.shut_down_after = std::chrono::seconds(61);
  const YAML::Node words = parsed(boot)["runcmd"][0];
  REQUIRE(words.size() == 3);
  CHECK(words[0].as<std::string>() == "shutdown");
  CHECK(words[2].as<std::string>() == "+2");
}

}  // namespace
}  // namespace fastgpu::provision::cloud
