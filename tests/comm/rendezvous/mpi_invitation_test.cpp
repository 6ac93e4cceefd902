#include <doctest/doctest.h>

#include <string>

#include "comm/common/plugin_file.hpp"
#include "comm/mpi/mpi_library.hpp"
#include "comm/rendezvous/invitation.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;

Endpoint point(int last) {
  Endpoint made{.port = 4000};
  made.address[0] = std::byte{10};
  made.address[3] = static_cast<std::byte>(last);
  return made;
}

TEST_SUITE_BEGIN("comm/mpi_invitation");

TEST_CASE("what rank 0 tells by MPI arrives as it is") {
  Invitation invitation;
  invitation.key[31] = std::byte{7};
  invitation.points = {point(1), point(2)};
  const Invitation heard = decode_invitation(encode(invitation));
  CHECK(heard.key == invitation.key);
  CHECK(heard.points == invitation.points);
}

TEST_CASE("of more addresses than there is room for, the first are told") {
  Invitation invitation;
  for (int i = 0; i < 100; ++i)
    invitation.points.push_back(point(i));
  const Invitation heard = decode_invitation(encode(invitation));
  CHECK(heard.points.size() > 10);
  CHECK(heard.points.size() < 100);
  CHECK(heard.points.back() == invitation.points[heard.points.size() - 1]);
}

TEST_CASE("what kept rank 0 from inviting is what the others fail with") {
  for (const std::string& text : {std::string("no such interface"), std::string(2000, 'x')}) {
    const Error e =
        failure_of([&] { decode_invitation(encode(Error(ErrorKind::conflict, text))); });
    CHECK(e.kind() == ErrorKind::conflict);
    CHECK(text.find(e.what()) == 0);
    CHECK(std::string(e.what()).size() > 10);
  }
}

TEST_CASE("the plugin is looked for beside the library and in the folder fastgpu there") {
  CHECK(plugin_places("/usr/lib/libfastgpu_comm.so.0", "libfastgpu_comm_mpi.so") ==
        std::vector<std::string>{"/usr/lib/libfastgpu_comm_mpi.so",
                                 "/usr/lib/fastgpu/libfastgpu_comm_mpi.so"});
}

TEST_CASE("a program of an installation finds the plugin among the installation's libraries") {
  for (const std::string program : {"/opt/fg/libexec/fastgpu/bench", "/opt/fg/bin/fastgpu"}) {
    const auto places = plugin_places(program, "libfastgpu_comm_mpi.so");
    REQUIRE(places.size() == 3);
    CHECK(places.back().starts_with("/opt/fg/lib"));
    CHECK(places.back().ends_with("/fastgpu/libfastgpu_comm_mpi.so"));
  }
  CHECK(plugin_places("/home/bench", "libfastgpu_comm_mpi.so").size() == 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
