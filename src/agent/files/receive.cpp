#include "agent/files/receive.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/node_path.hpp"
#include "transfer/tree_receiver.hpp"

namespace fastgpu::agent {
namespace {

void receive_all(transfer::TreeReceiver& receiver) {
  std::string buffer(256UL * 1024, '\0');
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw system_error("reading the stream of files", errno);
    if (size == 0) break;
    receiver.feed({buffer.data(), static_cast<std::size_t>(size)});
  }
  receiver.finish();
}

}  // namespace

int run_receive(Arguments arguments) try {
  using transfer::SourceCount;
  OptionReader options(arguments);
  const auto count = options.take_flag("--several") ? SourceCount::several : SourceCount::one;
  const auto asked = options.take_value("--position");
  const auto resumption = options.take_value("--resume");
  const auto trial = options.take_value("--try");  // The size of the copy in bytes.
  const bool is_file = options.take_flag("--file");
  options.take_flag("--");
  const auto destination = transfer::below_home(options.take_word("the destination"));
  options.expect_end();
  if (asked) {
    const auto position = transfer::kept_position(transfer::staging_parent(destination),
                                                  transfer::parse_resumption(*asked + ":0:0").key);
    write_all(STDOUT_FILENO, to_text(position) + "\n");
    return 0;
  }
  if (trial) {
    using transfer::EntryKind;
    transfer::try_receiving(destination, {.count = count,
                                          .first = is_file ? EntryKind::file : EntryKind::directory,
                                          .bytes = parse_number<std::uint64_t>(*trial, "--try")});
    return 0;
  }
  transfer::TreeReceiver receiver(
      destination, count,
      resumption ? std::optional(transfer::parse_resumption(*resumption)) : std::nullopt);
  receive_all(receiver);
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(e.kind());
}

}  // namespace fastgpu::agent
