#include "agent/jobs/peer_watch.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

/// The kernel waits at least 0.2 s, and then twice as long each time: together 12 s.
constexpr int kGone = 6;

/// Appends 32 bits as the kernel does: as a number of this processor.
void append_word(std::string& text, const unsigned char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  std::array<char, 9> hex{};
  std::snprintf(hex.data(), hex.size(), "%08X", word);
  text += hex.data();
}

std::string with_port(const std::string& address, std::uint16_t port) {
  std::array<char, 6> hex{};
  std::snprintf(hex.data(), hex.size(), ":%04X", unsigned{port});
  return address + hex.data();
}

/// Returns the forms of an address in the tables; the first one is that of its own family.
std::vector<std::string> forms_of(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  std::string text;
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    append_word(text, reinterpret_cast<const unsigned char*>(&v4));
    const std::array<unsigned char, 4> mark = {0, 0, 0xff, 0xff};
    std::string mapped(16, '0');
    append_word(mapped, mark.data());
    return {text, mapped + text};
  }
  if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1) return {};
  for (std::size_t at = 0; at < 16; at += 4)
    append_word(text, v6.s6_addr + at);
  return {text};
}

/// Returns the whole of a file of the kernel, whose size is unknown.
std::string kernel_table(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<PeerEnds> peer_ends(std::string_view ssh_connection) {
  std::istringstream words{std::string(ssh_connection)};
  std::string client, client_port, server, server_port;
  if (!(words >> client >> client_port >> server >> server_port)) return {};
  const auto theirs = to_number<std::uint16_t>(client_port);
  const auto ours = to_number<std::uint16_t>(server_port);
  const auto client_forms = forms_of(client), server_forms = forms_of(server);
  if (!theirs || !ours || client_forms.size() != server_forms.size()) return {};
  std::vector<PeerEnds> ends;
  for (std::size_t i = 0; i < client_forms.size(); ++i)
    ends.push_back({with_port(server_forms[i], *ours), with_port(client_forms[i], *theirs)});
  return ends;
}

std::optional<int> unanswered_in(std::string_view table, const PeerEnds& ends) {
  for (const std::string_view line : split_lines(table)) {
    if (line.find(ends.theirs) == line.npos) continue;
    std::istringstream fields{std::string(line)};
    std::string number, ours, theirs, state, queues, timer, again, user;
    int probes = 0;
    if (!(fields >> number >> ours >> theirs >> state >> queues >> timer >> again >> user >>
          probes))
      continue;
    if (ours != ends.ours || theirs != ends.theirs) continue;
    int count = 0;
    const auto [end, error] = std::from_chars(again.data(), again.data() + again.size(), count, 16);
    if (error == std::errc() && end == again.data() + again.size()) return std::max(count, probes);
  }
  return std::nullopt;
}

PeerWatch::PeerWatch() {
  if (const char* const connection = ::getenv("SSH_CONNECTION")) ends_ = peer_ends(connection);
}

bool PeerWatch::is_gone() const {
  for (const char* const path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    if (ends_.empty()) return false;
    const std::string table = kernel_table(path);
    for (const PeerEnds& ends : ends_)
      if (unanswered_in(table, ends).value_or(0) >= kGone) return true;
  }
  return false;
}

}  // namespace fastgpu::agent
