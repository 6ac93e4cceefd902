#include "comm/common/process_end.hpp"

#include <atomic>

namespace fastgpu::comm {
namespace {

constinit std::atomic<void (*)()> the_act{nullptr};
constinit std::atomic<bool> is_ending{false};

}  // namespace

void before_process_ends(void (*act)()) noexcept {
  the_act = act;
}

void process_is_ending() noexcept {
  if (is_ending.exchange(true)) return;
  if (void (*const act)() = the_act.load()) act();
}

bool is_process_ending() noexcept {
  return is_ending;
}

}  // namespace fastgpu::comm
