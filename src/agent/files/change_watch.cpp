#include "agent/files/change_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

namespace fastgpu::agent {

ChangeWatch::ChangeWatch()
    : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), works_(static_cast<bool>(inotify_)) {}

void ChangeWatch::add(const std::filesystem::path& directory) {
  constexpr auto kEvents = IN_CREATE | IN_MODIFY | IN_MOVED_TO;
  if (works_ && ::inotify_add_watch(inotify_.get(), directory.c_str(), kEvents) < 0) works_ = false;
}

void ChangeWatch::clear() {
  std::array<char, 16384> buffer;
  while (works_ && ::read(inotify_.get(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace fastgpu::agent
