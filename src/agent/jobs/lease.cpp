// `lease-take`, `lease-drop`, `lease-own`: ensure that only one fastgpu at a time changes this
// node's cluster.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/files/disk.hpp"
#include "agent/options.hpp"
#include "agent/protocol/lease.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestBook = 65'536;

/// The record, locked while the object lives, so that it is not read while another process writes
/// it.
class OpenBook {
 public:
  OpenBook() : place_(below_home(".fastgpu/lease")) {
    make_private_directory(place_);
    const fs::path path = place_ / "lock";
    lock_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock_) throw system_error("opening " + path.string(), errno);
    while (::flock(lock_.get(), LOCK_EX) != 0)
      if (errno != EINTR) throw system_error("locking " + path.string(), errno);
    if (const auto text = read_file(place_ / "book", kLargestBook)) book = parse_lease_book(*text);
  }

  void write() const {
    write_atomically(place_ / "book", to_text(book));
    // For readers that cannot run the agent.
    write_atomically(place_ / "owner", book.owner + "\n");
  }

  LeaseBook book{};

 private:
  fs::path place_;
  UniqueFd lock_;
};

std::int64_t now_s() {
  return now_ns() / 1'000'000'000;
}

}  // namespace

int run_lease_take(Arguments arguments) {
  OptionReader options(arguments);
  LeaseRequest request{.takes_over = options.take_flag("--take-over"),
                       .breaks = options.take_flag("--break")};
  request.holder = options.take_word("the holder");
  const auto seconds = parse_number<std::int64_t>(options.take_word("the seconds"), "the seconds");
  request.who = options.take_word("who it is");
  options.expect_end();
  if (request.holder.empty() || seconds < 1 || seconds > kLongestLease.count())
    throw Error(ErrorKind::usage, "a lease needs a holder, and 1 to 3600 seconds");
  request.duration = std::chrono::seconds(seconds);
  OpenBook open;
  const LeaseAnswer answer = decide_lease(open.book, request, now_s());
  open.book = answer.book;
  if (answer.is_granted) open.write();
  write_all(STDOUT_FILENO, to_text(answer));
  return 0;
}

int run_lease_drop(Arguments arguments) {
  OptionReader options(arguments);
  const std::string holder = options.take_word("the holder");
  options.expect_end();
  OpenBook open;
  if (open.book.holder != holder) return 0;
  open.book.holder.clear();
  open.book.who.clear();
  open.book.until = open.book.since = 0;
  open.write();
  return 0;
}

int run_lease_own(Arguments arguments) {
  OptionReader options(arguments);
  const std::string owner = options.take_word("the owner");
  const std::string taken = options.take_word("when it was taken");
  options.expect_end();
  OpenBook open;
  if (open.book.holder != owner || open.book.until <= now_s())
    throw Error(ErrorKind::denied, "the lease has run out: another may change the cluster now");
  open.book.owner = owner;
  open.book.taken = taken;
  open.write();
  return 0;
}

}  // namespace fastgpu::agent
