#include "provision/providers/local/boot.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/descriptors.hpp"
#include "base/files.hpp"
#include "base/outcome.hpp"
#include "base/unique_fd.hpp"
#include "process/child.hpp"
#include "provision/providers/local/durable_files.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kBootLimit{90};  // A loaded machine may take this long.
constexpr std::size_t kDescriptors = 6;         // Descriptors of a boot while it begins.

UniqueFd in_memory(const std::string& text) {
  UniqueFd file(::memfd_create("fastgpu-boot-order", MFD_CLOEXEC));
  if (!file) throw system_error("writing a boot order", errno);
  write_all(file.get(), text, "writing a boot order");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw system_error("writing a boot order", errno);
  return file;
}

std::string last_line(const fs::path& log) {
  std::string text = read_file(log).value_or("");
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text.empty() ? "its log is empty" : text.substr(text.rfind('\n') + 1);
}

Error failure_of(const std::string& answer, const std::string& log) {
  if (answer.starts_with(kFailed)) return {ErrorKind::local, answer.substr(kFailed.size())};
  if (answer.starts_with(kNoRoom)) return {ErrorKind::capacity, answer.substr(kNoRoom.size())};
  return {ErrorKind::local, "it has not come up: " + last_line(log)};
}

/// One node that is booting.
struct Boot {
  std::size_t place;
  process::Child child;
  std::string answer;
  steady_clock::time_point end;
};

class Booter {
 public:
  Booter(const fs::path& init_program, std::span<const BootJob> jobs)
      : init_program_(init_program), jobs_(jobs), outcomes_(jobs.size()) {}

  std::vector<Outcome<void>> run(const Cancel& cancel) {
    // Boots wait for the kernel now and then; twice the processors keep all of them busy.
    const std::size_t wanted = std::max(4U, 2 * std::thread::hardware_concurrency());
    const std::size_t width = std::clamp(free_descriptors() / kDescriptors, std::size_t{1}, wanted);
    while ((next_ < jobs_.size() || !boots_.empty()) && !cancel.requested()) {
      while (next_ < jobs_.size() && boots_.size() < width)
        start(next_++);
      await(cancel);
    }
    interrupted_ = !boots_.empty();
    for (Boot& boot : boots_)
      finish(boot);
    for (; next_ < jobs_.size(); ++next_)
      outcomes_[next_] = Error(ErrorKind::interrupted, "interrupted before it was started");
    return std::move(outcomes_);
  }

 private:
  std::string who(std::size_t place) const { return jobs_[place].order.node_name; }

  void start(std::size_t place) try {
    const BootJob& job = jobs_[place];
    if (job.prepare) job.prepare();
    const UniqueFd order = in_memory(encode(job.order));
    const std::string log = job.order.directory + "/init.log";
    const UniqueFd messages(
        ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!messages) throw system_error("writing " + log, errno);
    process::Child child({.argv = {init_program_.string(), "boot", job.mark},
                          .in = {.fd = order.get()},
                          .out = {.mode = process::StreamMode::pipe},
                          .err = {.fd = messages.get()},
                          .directory = "/",
                          .environment = std::vector<std::string>{},
                          .grouping = process::Grouping::session,
                          .on_parent_death = process::OnParentDeath::kill});
    boots_.push_back({place, std::move(child), "", steady_clock::now() + kBootLimit});
  } catch (const Error& e) {
    outcomes_[place] = e.during(who(place));
  }

  void await(const Cancel& cancel) {
    std::vector<pollfd> waits = {{cancel.fd(), POLLIN, 0}};
    for (Boot& boot : boots_)
      waits.push_back({boot.child.out().get(), POLLIN, 0});
    ::poll(waits.data(), waits.size(), 1'000);
    std::vector<Boot> left;
    for (std::size_t i = 0; i < boots_.size(); ++i) {
      const bool ended = waits[i + 1].revents != 0 && !read_on(boots_[i]);
      if (ended || steady_clock::now() > boots_[i].end) {
        finish(boots_[i]);
      } else {
        left.push_back(std::move(boots_[i]));
      }
    }
    boots_ = std::move(left);
  }

  /// Reads a piece; returns true if more may come.
  static bool read_on(Boot& boot) {
    std::array<char, 4096> piece;
    const ssize_t size = ::read(boot.child.out().get(), piece.data(), piece.size());
    if (size <= 0) return size < 0 && errno == EINTR;
    boot.answer.append(piece.data(), static_cast<std::size_t>(size));
    return boot.answer != kReady && boot.answer != kHeld;
  }

  void finish(Boot& boot) {
    const std::string log = jobs_[boot.place].order.directory + "/init.log";
    if (boot.answer == kReady || boot.answer == kHeld) {
      boot.child.wait();
      return;
    }
    boot.child.signal(SIGKILL);  // The half-made node dies with it.
    boot.child.wait();
    outcomes_[boot.place] = interrupted_
                                ? Error(ErrorKind::interrupted, who(boot.place) + ": interrupted")
                                : failure_of(boot.answer, log).during(who(boot.place));
  }

  const fs::path& init_program_;
  std::span<const BootJob> jobs_;
  std::vector<Outcome<void>> outcomes_;
  std::vector<Boot> boots_;
  std::size_t next_ = 0;
  bool interrupted_ = false;
};

}  // namespace

std::vector<Outcome<void>> boot_nodes(const fs::path& init_program, std::span<const BootJob> jobs,
                                      const Cancel& cancel) {
  return Booter(init_program, jobs).run(cancel);
}

}  // namespace fastgpu::provision::local
