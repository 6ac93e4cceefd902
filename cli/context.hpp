// Builds the concrete parts when a command first asks for them, and hands them out by reference.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/cancel.hpp"
#include "cli/ui/ui.hpp"
#include "state/directory.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {

class Context {
 public:
  Context(Ui& ui, const Cancel& cancel, state::Environment environment);
  virtual ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Ui& ui() noexcept { return ui_; }
  const Cancel& cancel() const noexcept { return cancel_; }
  const state::Environment& environment() const noexcept { return environment_; }

  void set_state_directory(std::filesystem::path directory);
  const std::filesystem::path& state_directory();
  state::Store& store();  ///< Throws as its constructor does.

  /// Told what a second Ctrl-C would leave behind, and which command removes it.
  void on_parting_words(std::function<void(const std::string&)> hear) { hear_ = std::move(hear); }
  void set_parting_words(const std::string& sentence);

 private:
  Ui& ui_;
  const Cancel& cancel_;
  state::Environment environment_;
  std::filesystem::path state_directory_;
  std::unique_ptr<state::Store> store_;
  std::function<void(const std::string&)> hear_;
};

}  // namespace fastgpu::cli
