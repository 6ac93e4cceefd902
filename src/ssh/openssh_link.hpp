// A command by OpenSSH's client, which is one process per command.
#pragma once

#include <optional>

#include "base/unique_fd.hpp"
#include "process/child.hpp"
#include "ssh/link.hpp"
#include "ssh/openssh_call.hpp"

namespace fastgpu::ssh {

class OpenSshLink final : public Link {
 public:
  /// Borrows `host`, which has host.openssh. `line` is the command line for the login shell.
  OpenSshLink(const Host& host, std::string line, std::chrono::milliseconds connect_timeout);

  bool connect() override;
  bool turned_away() const override;
  bool lost() const override;
  bool open() override { return true; }
  bool start() override { return true; }
  std::size_t read(Output from, std::span<char> buffer) override;
  bool at_end() const override { return early_at_ == early_.size() && !out_ && !err_; }
  bool can_write() override;
  std::optional<std::size_t> write(std::string_view bytes) override;
  void close_input() override { in_ = UniqueFd(); }
  std::optional<Exit> closed() override;
  pollfd wanted() const override { return {ready_.get(), POLLIN, 0}; }
  void woken() override;
  void flush() override {}
  Error error(ErrorKind kind, const std::string& reason) const override;
  Error timed_out(const std::string& limit) const override;
  std::unique_ptr<Connection> take_connection() override { return nullptr; }

 private:
  void keep_last_errors(std::string_view piece);
  void launch();
  void watch(int fd, std::uint32_t events);
  void read_log();
  void read_early_errors();
  bool has_ended();

  const Host& host_;
  std::string line_;
  std::chrono::milliseconds connect_timeout_;
  std::optional<OpenSshCall> call_;
  UniqueFd in_;  ///< A socket, so that a write to a dead client raises no signal.
  UniqueFd out_;
  UniqueFd err_;
  UniqueFd log_;
  UniqueFd log_end_;  ///< The client's end of the log, which it opens by its path.
  UniqueFd exit_;     ///< Readable once the client has ended.
  UniqueFd ready_;    ///< Readable if one of these is.
  bool awaits_room_ = false;
  std::string log_text_;
  std::string early_;  ///< The stderr before the login.
  std::size_t early_at_ = 0;
  std::string last_errors_;  // The end of the stderr.
  std::optional<process::Child> child_;
  std::optional<process::ExitStatus> ended_;
};

}  // namespace fastgpu::ssh
