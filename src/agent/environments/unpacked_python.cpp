#include "agent/environments/unpacked_python.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "agent/environments/node.hpp"
#include "agent/files/disk.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenUnpacks{20};

/// Waits for the lock and returns it: one process unpacks, and the others wait for it.
UniqueFd lock_of(const fs::path& archive, const Listener& listener) {
  for (;;) {
    if (auto lock = try_lock(archive.string() + ".lock")) return std::move(*lock);
    listener.gone().check();
    std::this_thread::sleep_for(kBetweenUnpacks);
  }
}

void unpack(const fs::path& archive, const fs::path& fresh, const Listener& listener) try {
  fs::remove_all(fresh);  // A leftover of a killed process.
  fs::create_directory(fresh);
  output_of({.argv = {"tar", "-xf", archive.string(), "-C", fresh.string(), "--no-same-owner"},
             .environment = plain_environment(),
             // It would otherwise write to the directory that the next process removes.
             .on_parent_death = process::OnParentDeath::kill},
            listener);
  if (!fs::exists(interpreter_in(fresh / "python")))
    throw Error(ErrorKind::remote, "the archive of Python has no python/bin/python3 in it");
} catch (...) {
  std::error_code ignored;
  fs::remove_all(fresh, ignored);
  throw;
}

}  // namespace

fs::path unpacked_python(const fs::path& archive, Listener& listener) {
  fs::path place = archive.parent_path() / "python";
  if (fs::exists(place)) return place;
  const UniqueFd lock = lock_of(archive, listener);
  if (fs::exists(place)) return place;
  listener.tell("unpacking Python");
  const fs::path fresh = archive.parent_path() / "python.new";
  unpack(archive, fresh, listener);
  fault_point("env-python-unpacked");
  fs::rename(fresh / "python", place);
  fs::remove_all(fresh);
  return place;
}

fs::path interpreter_in(const fs::path& python) {
  return python / "bin/python3";
}

}  // namespace fastgpu::agent
