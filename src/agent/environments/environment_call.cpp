#include "agent/environments/environment_call.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "agent/files/disk.hpp"
#include "transfer/failure_status.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kLargestRequest = 16 << 20;
constexpr std::chrono::milliseconds kBetweenBeats{1'000};

}  // namespace

Records read_request() {
  return {read_all(STDIN_FILENO, kLargestRequest), "the request"};
}

void write_answer(const Records& answer) {
  write_all(STDOUT_FILENO, answer.text());
}

int run_call(const std::function<void()>& body) try {
  body();
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(e.kind());
} catch (const std::filesystem::filesystem_error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return transfer::failure_status(system_error("", e.code().value()).kind());
}

Listener::Listener() : beat_(kBetweenBeats, [this] { write("beat", ""); }) {}

void Listener::tell(std::string_view doing) {
  write("doing", doing);
}

void Listener::write(std::string_view key, std::string_view value) {
  Records records;
  records.add(key, value);
  const std::scoped_lock lock(writing_);
  try {
    write_all(STDOUT_FILENO, records.text());
  } catch (const Error&) {
    gone_.request();  // Ends the running program.
  }
}

}  // namespace fastgpu::agent
