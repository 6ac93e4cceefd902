#include "provision/cloud/machine_address.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using fastgpu::test::failure_of;

TEST_SUITE_BEGIN("provision/cloud/machine_address");

TEST_CASE("an address is taken as the cloud tells it, and an empty one is none yet") {
  CHECK(MachineAddress::told("aws", "i-1", "203.0.113.7").text() == "203.0.113.7");
  CHECK(MachineAddress::told("aws", "i-1", "2001:DB8::1").text() == "2001:db8::1");
  CHECK(MachineAddress::told("aws", "i-1", "").empty());
}

TEST_CASE("a text that is no address never gets any further, and the cloud is named") {
  for (const char* text :
       {"10.0.0.1\nProxyCommand touch /tmp/x", "10.0.0.1 slots=99", "10.0.0.1\t", "node-1",
        "-oProxyCommand=x", "10.0.0.1:22", "10.0.0.1#", "$(id)", "10.0.0.1\r", "*", "10.0.0.0/8"}) {
    CAPTURE(text);
    const Error error = failure_of([&] { MachineAddress::told("huawei", "i-7", text); });
    CHECK(error.kind() == ErrorKind::remote);
    const std::string said = error.what();
    CHECK(said.starts_with("huawei: machine i-7 has the invalid IP address '"));
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("an id is taken as the cloud tells it, and an empty one is not known") {
  for (const char* text :
       {"i-0123456789abcdef0", "i-bp1A_b", "ins-8a9b", "", "3b1c5a52-9d4e-4b4f-8c3d-1c2a0e9f7a6b"})
    CHECK(machine_id_told("aws", text) == text);
}

TEST_CASE("a text that is no id never gets any further, and the cloud is named") {
  const std::vector<std::string> texts{
      "..",         "../../tags", "i-1/../x", "i-1 --force",       "i-1\n", "-i", "$(id)",
      "i-1;reboot", "i-1.",       "\x1b]0;x", std::string(65, 'a')};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const Error error = failure_of([&] { machine_id_told("huawei", text); });
    CHECK(error.kind() == ErrorKind::remote);
    CHECK(std::string(error.what()).starts_with("huawei returned the invalid machine id '"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
