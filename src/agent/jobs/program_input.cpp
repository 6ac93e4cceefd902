#include "agent/jobs/program_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::agent {

using transfer::InputFrame;
using transfer::InputKind;

ProgramInput::ProgramInput(int from)
    : from_(from),
      decoder_([this](const InputFrame& frame, std::string_view bytes) { take(frame, bytes); }) {}

std::vector<std::string> ProgramInput::wait_for_variables() {
  is_framed_ = true;
  while (!has_variables_)
    if (!receive())
      throw Error(ErrorKind::local, "the connection ended before the program's variables came");
  return std::move(variables_);
}

void ProgramInput::pass_to(UniqueFd program) {
  is_framed_ = true;
  program_ = std::move(program);
  ::fcntl(program_.get(), F_SETFL, ::fcntl(program_.get(), F_GETFL) | O_NONBLOCK);
  pass_on();
}

pollfd ProgramInput::wanted() const noexcept {
  // No input is read while the program is slow, but the end of the connection is still noticed.
  const bool is_full = program_ && at_ < pending_.size();
  return {from_, static_cast<short>(is_full ? POLLRDHUP : POLLIN | POLLRDHUP), 0};
}

pollfd ProgramInput::wanted_of_program() const noexcept {
  const bool has_some = at_ < pending_.size();
  return {has_some ? program_.get() : -1, POLLOUT, 0};
}

bool ProgramInput::receive() {
  const bool is_full = program_ && at_ < pending_.size();
  if (is_full) return false;  // Polled only for the end of the connection.
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(from_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got <= 0) return false;
  if (is_framed_) decoder_.feed({buffer.data(), static_cast<std::size_t>(got)});
  pass_on();
  return true;
}

void ProgramInput::take(const InputFrame& frame, std::string_view bytes) {
  switch (frame.kind) {
    case InputKind::variables:
      if (has_variables_) throw Error(ErrorKind::remote, "standard input: variables come twice");
      has_variables_ = true;
      variables_ = transfer::decode_variables(bytes);
      return;
    case InputKind::data:
      if (!is_closed_) pending_ += bytes;
      return;
    case InputKind::end:
      complete_ = true;
      return;
  }
}

void ProgramInput::pass_on() {
  while (program_ && at_ < pending_.size()) {
    const ssize_t put = ::write(program_.get(), pending_.data() + at_, pending_.size() - at_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) close_program();
    if (put > 0) at_ += static_cast<std::size_t>(put);
  }
  pending_.clear();
  at_ = 0;
  if (complete_) close_program();
}

void ProgramInput::close_program() {
  program_ = UniqueFd();
  is_closed_ = true;
}

}  // namespace fastgpu::agent
