#include "cli/context.hpp"

#include <utility>

namespace fastgpu::cli {

Context::Context(Ui& ui, const Cancel& cancel, state::Environment environment)
    : ui_(ui), cancel_(cancel), environment_(std::move(environment)) {}

Context::~Context() = default;

void Context::set_state_directory(std::filesystem::path directory) {
  state_directory_ = std::filesystem::absolute(directory);
}

const std::filesystem::path& Context::state_directory() {
  if (state_directory_.empty()) state_directory_ = state::choose_directory(environment_);
  return state_directory_;
}

state::Store& Context::store() {
  if (!store_) store_ = std::make_unique<state::Store>(state_directory());
  return *store_;
}

void Context::set_parting_words(const std::string& sentence) {
  if (hear_) hear_(sentence);
}

}  // namespace fastgpu::cli
