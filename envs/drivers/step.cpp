#include "envs/drivers/step.hpp"

#include <algorithm>

namespace fastgpu::envs {

const Step* Plan::next() const noexcept {
  for (const Step& step : steps)
    if (step.state == StepState::to_do) return &step;
  return nullptr;
}

bool operator==(const Plan& a, const Plan& b) {
  return std::ranges::equal(a.steps, b.steps, [](const Step& x, const Step& y) {
    return x.title == y.title && x.state == y.state && x.commands == y.commands && x.note == y.note;
  });
}

}  // namespace fastgpu::envs
