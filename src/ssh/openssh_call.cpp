#include "ssh/openssh_call.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/error.hpp"
#include "base/files.hpp"
#include "ssh/connection.hpp"
#include "ssh/openssh.hpp"

namespace fastgpu::ssh {
namespace {

std::string known_hosts_of(const Host& host) {
  if (host.host_keys.empty())
    throw Error(ErrorKind::denied, place(host) + ": its host key is not known");
  return openssh_known_hosts(std::span(&host, 1));
}

}  // namespace

MemoryFile::MemoryFile(const std::string& text) : fd_(::memfd_create("fastgpu", MFD_CLOEXEC)) {
  if (!fd_) throw system_error("making a file in memory", errno);
  write_all(fd_.get(), text, "writing a file in memory");
}

std::filesystem::path MemoryFile::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
}

std::string MemoryFile::text() const {
  std::string text;
  std::array<char, 4096> buffer{};
  for (off_t at = 0;;) {
    const ssize_t size = ::pread(fd_.get(), buffer.data(), buffer.size(), at);
    if (size < 0) throw system_error("reading a file in memory", errno);
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
    at += size;
  }
}

OpenSshCall::OpenSshCall(const Host& host, std::chrono::milliseconds connect_timeout)
    : name_(openssh_name(host)),
      known_hosts_(known_hosts_of(host)),
      config_(openssh_connection_config(host, known_hosts_.path(), connect_timeout)) {}

std::vector<std::string> OpenSshCall::argv(const std::vector<std::string>& options) const {
  std::vector<std::string> argv{"ssh", "-F", config_.path().string()};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"--", name_});
  return argv;
}

}  // namespace fastgpu::ssh
