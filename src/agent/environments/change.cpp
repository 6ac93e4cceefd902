// Subcommands on the environments of this node: show, verify, switch, set as the default of logins,
// remove.
#include <unistd.h>

#include <algorithm>

#include "agent/environments/checked.hpp"
#include "agent/environments/environment_call.hpp"
#include "agent/environments/linked_python.hpp"
#include "agent/environments/login.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/place.hpp"
#include "agent/files/disk.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/options.hpp"
#include "transfer/staging.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// How long to wait for the lock. All nodes are called at the same time, and some may share the
/// place, but these calls are short.
constexpr std::chrono::milliseconds kLookTimeout{3'000};

/// The arguments PREFIX NAME [VERSION], for an existing environment.
struct Named {
  EnvironmentPlaces places;
  std::string name;
  std::string version;  ///< The current version if it is not given.

  fs::path directory() const { return places.version(name, version); }
};

Named take_named(OptionReader& options) {
  Named named{.places = places_at(options.take_word("the prefix")),
              .name = options.take_word("the name"),
              .version = {}};
  check_environment_name(named.name);
  named.version =
      options.done() ? link_target(named.places.current(named.name)) : options.take_word("VERSION");
  if (named.version.empty())
    throw Error(ErrorKind::not_found, "there is no environment " + named.name + " on this node");
  check_environment_name(named.version);
  return named;
}

Named take_named(Arguments arguments) {
  OptionReader options(arguments);
  Named named = take_named(options);
  options.expect_end();
  return named;
}

/// Returns true if a process here runs in the build: its variables name it. Processes that the
/// agent's user may not read are left out.
bool is_in_use(const fs::path& build) {
  const std::string inside = build.string() + "/";
  return std::ranges::any_of(all_pids(), [&](pid_t pid) {
    return proc_file(pid, "environ").find(inside) != std::string::npos;
  });
}

/// Removes the builds before the previous one. The previous one stays, because jobs on other nodes
/// that share the place may use it, and so does every other that a process here uses.
void remove_old(const Named& named, const std::string& before) {
  for (const fs::directory_entry& entry :
       fs::directory_iterator(named.places.prefix / named.name)) {
    const std::string name = entry.path().filename();
    const bool is_build = entry.is_directory() && !entry.is_symlink() && !name.starts_with('.');
    if (!is_build || name == named.version || name == before) continue;
    if (is_in_use(entry.path())) continue;
    forget_checked(entry.path());
    fs::remove_all(entry.path());
  }
}

void deactivate(const EnvironmentPlaces& places) {
  remove_login_lines(places);
  fs::remove(places.active());
}

void remove_one(const EnvironmentPlaces& places, const std::string& name) {
  const std::string active = fs::path(link_target(places.active())).filename();
  // Another node that shares the place may have been faster, but the startup lines here are this
  // node's.
  if (active.empty() || active == name) deactivate(places);
  fs::remove_all(places.prefix / name);
}

void remove_all(const EnvironmentPlaces& places) {
  remove_login_lines(places);
  remove_prefix(places);
}

/// Removes one environment, or all of them if `name` is empty.
void remove(const EnvironmentPlaces& places, const std::string& name) try {
  const UniqueFd lock = lock_prefix(places, kLookTimeout);
  name.empty() ? remove_all(places) : remove_one(places, name);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::not_found) throw;
  remove_login_lines(places);
  remove_remains(places);
}

/// Removes the place of an environment if nothing is in it. A creation that ends early leaves such
/// a place.
void remove_if_empty(const EnvironmentPlaces& places, const std::string& name) {
  check_environment_name(name);
  const UniqueFd lock = lock_prefix(places, kLookTimeout);
  ::rmdir((places.prefix / name).c_str());  // Fails if it is missing or has content.
}

}  // namespace

int run_env_verify(Arguments arguments) {
  return run_call([&] {
    const fs::path version = take_named(arguments).directory();
    const VerifyAnswer answer = verify_manifest(version);
    if (answer.damaged.empty())
      note_checked(version, answer.manifest);
    else
      forget_checked(version);
    write_answer(to_records(answer));
  });
}

int run_env_show(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const fs::path version = take_named(options).directory();
    const fs::path base = options.done() ? "" : options.take_word("BASE");
    options.expect_end();
    const fs::path details = details_of(version);
    Records answer;
    answer.add("bytes", static_cast<std::int64_t>(build_bytes(version)));
    if (!base.empty())
      answer.add("bytes-in-base", static_cast<std::int64_t>(bytes_in_both(version, base)));
    answer.add("spec", read_file(details / "env.yaml").value_or(""));
    answer.add("lock", read_file(details / "env.lock").value_or(""));
    write_answer(answer);
  });
}

int run_env_use(Arguments arguments) {
  return run_call([&] {
    const Named named = take_named(arguments);
    const UniqueFd lock = lock_prefix(named.places, kLookTimeout);
    if (manifest_sum(named.directory()).empty())
      throw Error(ErrorKind::conflict, named.directory().string() + " is not complete");
    check_linked_python(named.directory());
    const fs::path link = named.places.current(named.name);
    const std::string before = link_target(link);
    // Another node that shares the place may have been faster.
    if (before == named.version) return;
    switch_link(link, named.version);
    remove_old(named, before);
  });
}

int run_env_discard(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const bool if_unused = options.take_flag("--unused");
    const Named named = take_named(options);
    options.expect_end();
    const UniqueFd lock = lock_prefix(named.places, kLookTimeout);
    if (if_unused) {
      // Another node that shares the place may use it.
      if (link_target(named.places.current(named.name)) == named.version) return;
      transfer::drop_kept_copies(named.places.prefix / named.name);
    }
    forget_checked(named.directory());
    fs::remove_all(named.directory());
  });
}

int run_env_activate(Arguments arguments) {
  return run_call([&] {
    const Named named = take_named(arguments);
    const UniqueFd lock = lock_prefix(named.places, kLookTimeout);
    switch_link(named.places.active(), "../" + named.name);
    add_login_lines(named.places);
  });
}

int run_env_deactivate(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const auto places = places_at(options.take_word("the prefix"));
    options.expect_end();
    if (!fs::exists(places.own())) return remove_login_lines(places);
    const UniqueFd lock = lock_prefix(places, kLookTimeout);
    deactivate(places);
  });
}

int run_env_remove(Arguments arguments) {
  return run_call([&] {
    OptionReader options(arguments);
    const bool if_empty = options.take_flag("--if-empty");
    const auto places = places_at(options.take_word("the prefix"));
    const std::string name = options.done() ? "" : options.take_word("the name");
    options.expect_end();
    if (if_empty) return remove_if_empty(places, name);
    if (!name.empty()) check_environment_name(name);
    remove(places, name);
  });
}

}  // namespace fastgpu::agent
