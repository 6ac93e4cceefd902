#include "comm/rendezvous/handshake.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/hex.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/endpoint.hpp"

namespace fastgpu::comm {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_SUITE_BEGIN("comm/handshake");

TEST_CASE("a proof is the HMAC-SHA256 of RFC 4231") {
  // Its test case 2, with the data split over label and parts.
  const std::string label = "what do y", middle = "a want ", end = "for nothing?";
  const Proof proof = prove(Secret("Jefe"), label, {bytes_of(middle), bytes_of(end)});
  CHECK(hex(proof) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("secrets of any length prove as HMAC has it") {
  // Test case 6 of RFC 4231, and a key that fills its block.
  const std::string label = "Test Using Larger Than Block-Size Key - Hash Key First";
  CHECK(hex(prove(Secret(std::string(131, '\xaa')), label, {})) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hex(prove(Secret(std::string(64, 'k')), "Hi There", {})) ==
        "5869e1671d6aa2838f1028b78343e7ee54efe2c036d66bdb25451fcd74beca6e");
}

TEST_CASE("a proof depends on the secret and on the label") {
  const Proof proof = prove(Secret("a"), "visitor", {});
  CHECK(is_equal(proof, prove(Secret("a"), "visitor", {})));
  CHECK_FALSE(is_equal(proof, prove(Secret("b"), "visitor", {})));
  CHECK_FALSE(is_equal(proof, prove(Secret("a"), "host", {})));
}

TEST_CASE("nonces differ") {
  CHECK(random_nonce() != random_nonce());
}

TEST_CASE("an endpoint survives the wire, and what is none is refused") {
  Endpoint endpoint{.family = Family::ipv6, .port = 29500};
  endpoint.address[15] = std::byte{1};
  CHECK(decode_endpoint(encode(endpoint)) == endpoint);
  CHECK(to_string(endpoint) == "[::1]:29500");
  CHECK(endpoint.is_loopback());

  auto unknown_family = encode(endpoint);
  unknown_family[0] = std::byte{9};
  CHECK_FALSE(decode_endpoint(unknown_family));
  endpoint.port = 0;
  CHECK_FALSE(decode_endpoint(encode(endpoint)));
}

TEST_CASE("a hello of another version is refused before anything is proved") {
  const PeerIdentity host{.rank = {0}, .size = 2};
  ServerHandshake reception(host);
  Message<kHelloBytes> hello{};
  WireWriter(hello).put(std::uint32_t{0x46474352}).put(std::uint32_t{kLibraryVersion + 1});
  CHECK(reception.challenge(hello));
  CHECK(reception.refusal() == Refusal::other_version);
}

TEST_CASE("a version is a number that grows with it, and text again") {
  CHECK(version_number("0.1.0") == 100);
  CHECK(version_number("12.3.45") == 120345);
  CHECK(version_text(120345) == "12.3.45");
  CHECK(version_text(kLibraryVersion) == FASTGPU_VERSION);
}

TEST_CASE("a hello without the magic number is no rank's") {
  const PeerIdentity host{.rank = {0}, .size = 2};
  CHECK_FALSE(ServerHandshake(host).challenge(Message<kHelloBytes>{}));
}

TEST_CASE("numbers survive the wire in network order") {
  std::array<std::byte, 7> buffer{};
  WireWriter(buffer).put(std::uint8_t{1}).put(std::uint16_t{0x0203}).put(std::uint32_t{0x04050607});
  CHECK(hex(buffer) == "01020304050607");
  WireReader in(buffer);
  CHECK(in.get<std::uint8_t>() == 1);
  CHECK(in.get<std::uint16_t>() == 0x0203);
  CHECK(in.get<std::uint32_t>() == 0x04050607);
  CHECK_THROWS_AS(in.get<std::uint8_t>(), Error);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
