#include "ssh/algorithms.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/join.hpp"
#include "base/names.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

constexpr unsigned char kKexInit = 20;
constexpr std::size_t kCookie = 16;

bool are_disjoint(std::string_view ours, std::string_view theirs) {
  const std::string all = "," + std::string(theirs) + ",";
  while (!ours.empty()) {
    const std::string_view one = ours.substr(0, ours.find(','));
    ours.remove_prefix(std::min(one.size() + 1, ours.size()));
    if (all.find("," + std::string(one) + ",") != all.npos) return false;
  }
  return true;
}

/// Returns the lists of the server's KEXINIT message; empty if the message is missing.
std::vector<std::string_view> lists_in(std::string_view bytes) {
  const auto version = bytes.starts_with("SSH-") ? 0 : bytes.find("\nSSH-");
  if (version == bytes.npos) return {};
  const auto end = bytes.find('\n', version + 1);
  if (end == bytes.npos) return {};
  SshWireReader reader(bytes.substr(end + 1));
  const auto size = reader.u32();
  const auto head = reader.bytes(2);  // The length of the padding, and the kind of the message.
  if (!size || !head || static_cast<unsigned char>((*head)[1]) != kKexInit) return {};
  if (!reader.bytes(kCookie)) return {};
  std::vector<std::string_view> lists;
  while (lists.size() < 6) {
    const auto list = reader.string();
    if (!list) return {};
    lists.push_back(*list);
  }
  return lists;
}

}  // namespace

std::string unmatched_algorithms(std::string_view first_bytes) {
  struct List {
    const char* what;
    const char* ours;
    std::size_t place;
  };
  // The lists from the client to the server and back are alike in practice.
  constexpr std::array<List, 4> kLists = {{{"key exchange", kKeyExchange, 0},
                                           {"host key", kHostKeyType, 1},
                                           {"cipher", kCiphers, 2},
                                           {"MAC", kMacs, 4}}};
  const std::vector<std::string_view> theirs = lists_in(first_bytes);
  std::string out;
  if (theirs.empty()) return out;
  for (const auto& [what, ours, place] : kLists)
    if (are_disjoint(ours, theirs[place]))
      append_item(out,
                  std::string(what) + ": the host has " + printable(theirs[place], 300) +
                      ", libssh2 here has " + ours,
                  "; ");
  return out;
}

}  // namespace fastgpu::ssh
