#include "envs/drivers/step.hpp"

#include <algorithm>

namespace fastgpu::envs {

const DriverStep* DriverPlan::next() const noexcept {
  for (const DriverStep& step : steps)
    if (step.state == StepState::to_do) return &step;
  return nullptr;
}

bool operator==(const DriverPlan& a, const DriverPlan& b) {
  return std::ranges::equal(a.steps, b.steps, [](const DriverStep& x, const DriverStep& y) {
    return x.title == y.title && x.state == y.state && x.commands == y.commands && x.note == y.note;
  });
}

}  // namespace fastgpu::envs
