#include "comm/fabric/left_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::comm::fabric {
namespace {

namespace fs = std::filesystem;

/// A folder in shared memory, as the provider's files are.
class Folder {
 public:
  Folder() {
    std::string pattern = "/dev/shm/fastgpu-left-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

  /// Makes a file that begins as the provider's files of that process.
  fs::path add(const std::string& name, pid_t process) const {
    const std::uint16_t version_and_flags[] = {4, 1};
    const auto id = static_cast<std::int32_t>(process);
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(version_and_flags), sizeof(version_and_flags));
    file.write(reinterpret_cast<const char*>(&id), sizeof(id));
    file << std::string(100, 'x');
    return path_ / name;
  }

 private:
  fs::path path_;
};

/// Returns the id of a process that has ended.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  return child;
}

std::string name_for(pid_t process, uid_t user = ::getuid()) {
  return std::to_string(process) + ":" + std::to_string(user) + ":0";
}

TEST_SUITE_BEGIN("comm/fabric");

TEST_CASE("files of the provider shm whose process has ended are removed") {
  const Folder folder;
  const pid_t ended = ended_process();
  const fs::path left = folder.add(name_for(ended), ended);
  const fs::path second =
      folder.add(name_for(ended).replace(name_for(ended).size() - 1, 1, "12"), ended);
  const std::string user = ":" + std::to_string(::getuid());
  const fs::path named_by_us =
      folder.add(std::to_string(ended) + ".4026531836" + user + ":0", ended);
  remove_left_files(folder.path());
  CHECK_FALSE(fs::exists(left));
  CHECK_FALSE(fs::exists(second));
  CHECK_FALSE(fs::exists(named_by_us));
}

TEST_CASE("files of a process that runs, of others and of other programs are left") {
  const Folder folder;
  const pid_t ended = ended_process();
  const std::string id = std::to_string(ended);
  folder.add(name_for(::getpid()), ::getpid());
  folder.add(name_for(ended, ::getuid() + 1), ended);
  folder.add(name_for(ended), ::getpid());  // Its first bytes have another process id.
  const std::string other_names[] = {id,
                                     id + ":0",
                                     id + ":x:0",
                                     id + "::0",
                                     id + ":0:0:0",
                                     ":" + id,
                                     "a" + name_for(ended),
                                     "-1:0:0",
                                     "0:0:0",
                                     id + ".:" + std::to_string(::getuid()) + ":0",
                                     id + ".x:" + std::to_string(::getuid()) + ":0",
                                     name_for(ended) + " "};
  for (const std::string& name : other_names)
    folder.add(name, ended);
  std::ofstream(folder.path() / (name_for(ended) + "1")) << "short";
  fs::create_directory(folder.path() / (name_for(ended) + "2"));
  const fs::path target = folder.add("target", ended);
  fs::create_symlink(target, folder.path() / (name_for(ended) + "3"));
  fs::create_hard_link(target, folder.path() / (name_for(ended) + "4"));
  const auto count = std::distance(fs::directory_iterator(folder.path()), {});
  remove_left_files(folder.path());
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == count);
}

TEST_CASE("a file that a process has mapped or open is left, whatever its process id") {
  const Folder folder;
  const pid_t ended = ended_process();
  const fs::path left = folder.add(name_for(ended), ended);
  UniqueFd file(::open(left.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file);
  remove_left_files(folder.path());
  CHECK(fs::exists(left));
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  file = UniqueFd();
  remove_left_files(folder.path());
  CHECK(fs::exists(left));
  REQUIRE(::munmap(mapped, 4096) == 0);
  remove_left_files(folder.path());
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("a folder that is missing is ignored") {
  remove_left_files("/nonexistent");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::fabric
