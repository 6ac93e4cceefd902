#include "comm/common/blame_note.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.hpp"
#include "comm/common/process_end.hpp"

namespace fastgpu::comm {
namespace {

/// Ignores failures: the program fails for a better reason, and the launcher does without the note.
void write_note(const std::string& path, const std::string& text) noexcept {
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file) static_cast<void>(::write(file.get(), text.data(), text.size()) < 0);
}

}  // namespace

std::function<void(Rank)> blame_note(const Environment& environment, Rank self, int size) {
  const auto path = environment("FASTGPU_BLAME_FILE");
  if (!path || size < 2) return nullptr;
  ::unlink(path->c_str());
  const std::string begin = std::to_string(self.value) + " " + std::to_string(size) + " ";
  return [path = *path, begin, self](Rank culprit) {
    if (is_process_ending()) return;
    ::unlink(path.c_str());
    if (culprit != self) write_note(path, begin + std::to_string(culprit.value) + "\n");
  };
}

}  // namespace fastgpu::comm
