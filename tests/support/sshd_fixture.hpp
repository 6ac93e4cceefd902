// Real sshd processes on loopback, each with keys and a home directory of its own.
#pragma once

#include <arpa/inet.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "ssh/host.hpp"
#include "ssh/keys.hpp"
#include "support/free_port.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::test {

namespace fs = std::filesystem;

inline void write_file(const fs::path& file, const std::string& text, fs::perms mode) {
  std::ofstream(file, std::ios::binary) << text;
  fs::permissions(file, mode);
}

inline std::string read_file(const fs::path& file) {
  return fastgpu::read_file(file).value_or("");
}

inline std::string current_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? "root" : entry->pw_name;
}

inline const char* sshd_program() {
  for (const char* path : {"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"})
    if (::access(path, X_OK) == 0) return path;
  return nullptr;
}

class Sshd {
 public:
  /// Starts sshd and returns once it answers. `more` has further lines for sshd_config.
  explicit Sshd(const std::string& more = "") : port_(free_port()) {
    if (::geteuid() == 0) fs::create_directories("/run/sshd");
    const fs::path& dir = directory_.path();
    fs::create_directory(home());
    host_key_ = ssh::generate_key_pair("host");
    user_key_ = ssh::generate_key_pair("user");
    constexpr auto kPrivate = fs::perms::owner_read | fs::perms::owner_write;
    write_file(dir / "host_key", host_key_.private_key.reveal(), kPrivate);
    write_file(dir / "id", user_key_.private_key.reveal(), kPrivate);
    write_file(dir / "authorized_keys", user_key_.public_key + "\n", kPrivate);
    write_file(dir / "config", config(more), kPrivate);
    start();
  }
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;
  ~Sshd() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  ssh::Host host(const std::string& name) const {
    return {.name = NodeName{name},
            .address = "127.0.0.1",
            .port = port_,
            .user = current_user(),
            .identity = directory_.path() / "id",
            .host_keys = {host_key_.public_key}};
  }

  /// Returns the HOME of commands that run there.
  fs::path home() const { return directory_.path() / "home"; }
  const fs::path& directory() const noexcept { return directory_.path(); }
  const std::string& host_key() const noexcept { return host_key_.public_key; }
  std::string log() const { return read_file(directory_.path() / "log"); }

 private:
  std::string config(const std::string& more) const {
    const std::string dir = directory_.path().string();
    return "ListenAddress 127.0.0.1\nPort " + std::to_string(port_) + "\nHostKey " + dir +
           "/host_key\nAuthorizedKeysFile " + dir + "/authorized_keys\nPidFile none\n" +
           "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n" +
           "PrintMotd no\nPrintLastLog no\nSetEnv HOME=" + home().string() + "\n" + more + "\n";
  }

  void start() {
    const std::string dir = directory_.path().string();
    const std::string config_file = dir + "/config";
    const std::string log_file = dir + "/log";
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::execl(sshd_program(), sshd_program(), "-D", "-f", config_file.c_str(), "-E",
              log_file.c_str(), nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 500; ++i) {
      if (answers()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("sshd does not answer: " + log());
  }

  bool answers() const {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  TempDirectory directory_;
  std::uint16_t port_;
  KeyPair host_key_;
  KeyPair user_key_;
  pid_t pid_ = -1;
};

}  // namespace fastgpu::test
