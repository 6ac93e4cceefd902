#include "cli/workflows/local_tools.hpp"

#include <poll.h>

#include <algorithm>

#include "base/counted.hpp"
#include "ssh/keys.hpp"

namespace fastgpu::cli {

using std::chrono::milliseconds;

void SystemClock::sleep(milliseconds duration) {
  pollfd stop{cancel_.fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(std::max<milliseconds::rep>(0, duration.count())));
}

KeyPair SshKeyMaker::make(std::string_view comment) {
  return ssh::generate_key_pair(comment);
}

void ProgressEvents::step_started(std::string_view step) {
  try {
    messages_.progress(step);
  } catch (const Error&) {  // An unwritable stderr must not stop the operation.
  }
}

void ProgressEvents::step_finished(std::string_view) {
  messages_.end_progress();
}

void ProgressEvents::asking(std::string_view what) {
  try {
    messages_.waiting(what);
  } catch (const Error&) {  // An unwritable stderr must not stop the operation.
  }
}

void ProgressEvents::asked() {
  try {
    messages_.end_progress();
  } catch (const Error&) {  // An unwritable stderr must not stop the operation.
  }
}

void ProgressEvents::moving_on(std::string_view reason) {
  try {
    messages_.end_progress();
    messages_.note(std::string(reason) + ": trying the next zone");
  } catch (const Error&) {  // The operation goes on without the note.
  }
}

void ProgressEvents::replacing(std::string_view reason) {
  try {
    messages_.end_progress();
    messages_.note(std::string(reason) + ": requesting other machines");
  } catch (const Error&) {  // The operation goes on without the note.
  }
}

void ProgressEvents::shrunk(std::size_t wanted, std::size_t got) {
  try {
    messages_.end_progress();
    messages_.warn("no zone has capacity for " + counted(wanted, "node") + ": continuing with " +
                   std::to_string(got));
  } catch (const Error&) {  // The operation goes on without the warning.
  }
}

void ProgressEvents::left_behind(std::string_view sentence) {
  try {
    messages_.warn(sentence);
  } catch (const Error&) {  // The operation goes on without the warning.
  }
}

}  // namespace fastgpu::cli
