#include "base/path_trust.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <fstream>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // The kernel's own limit.

std::string name_of(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  const std::string number = "uid " + std::to_string(user);
  return entry == nullptr ? number : std::string(entry->pw_name) + " (" + number + ")";
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

/// Returns the number that a user namespace shows for all accounts outside of it; absent if all
/// accounts are visible.
std::optional<uid_t> number_of_outsiders() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long first = 0;
  unsigned long outside = 0;
  unsigned long count = 0;
  if (!(map >> first >> outside >> count) || count >= 0xffffffffUL) return std::nullopt;
  uid_t overflow = 65'534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
  return overflow;
}

/// Returns the error for a part of a path. It may be as long as the kernel allows, or longer.
Error looking_error(const fs::path& part, int error) {
  constexpr std::size_t kMostOfPart = 200;
  return system_error("looking at " + printable(part.string(), kMostOfPart), error);
}

class Walk {
 public:
  explicit Walk(const std::vector<uid_t>& owners) : owners_(owners) {}

  std::optional<Weakness> along(const fs::path& path) {
    put_ahead(fs::absolute(path));
    fs::path at = "/";
    while (true) {
      const auto status = status_of(at);
      if (!status) return std::nullopt;
      if (auto weakness = judge(at, *status)) return weakness;
      if (S_ISLNK(status->st_mode))
        at = follow(at);
      else if (ahead_.empty())
        return std::nullopt;
      else
        at = next(at);
    }
  }

 private:
  void put_ahead(const fs::path& path) {
    std::deque<fs::path> parts;
    for (const fs::path& part : path.relative_path())
      if (!part.empty() && part != ".") parts.push_back(part);
    ahead_.insert(ahead_.begin(), parts.begin(), parts.end());
  }

  fs::path next(const fs::path& at) {
    const fs::path name = ahead_.front();
    ahead_.pop_front();
    return name == ".." ? at.parent_path() : at / name;
  }

  /// Returns the status; absent for a missing file. All parents of `path` have been checked, so
  /// that no untrusted account can have replaced it.
  static std::optional<struct stat> status_of(const fs::path& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) return status;
    if (errno == ENOENT) return std::nullopt;
    throw looking_error(path, errno);
  }

  /// Returns the directory in which the link's target begins: the root, or that of the link.
  fs::path follow(const fs::path& link) {
    if (++links_ > kMostLinks) throw looking_error(link, ELOOP);
    std::error_code error;
    const fs::path target = fs::read_symlink(link, error);
    if (error) throw system_error("reading the link " + link.string(), error.value());
    put_ahead(target);
    return target.is_absolute() ? fs::path("/") : link.parent_path();
  }

  std::optional<Weakness> judge(const fs::path& part, const struct stat& status) const {
    if (!is_trusted(status.st_uid) && !(is_on_the_way() && outsiders_ == status.st_uid))
      return Weakness{part, Weakness::Kind::owner, "belongs to " + name_of(status.st_uid)};
    if (S_ISLNK(status.st_mode)) return std::nullopt;  // Every link has the mode 0777.
    if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) return std::nullopt;
    const bool by_group = (status.st_mode & S_IWGRP) != 0 && has_strangers(status.st_gid);
    if ((status.st_mode & S_IWOTH) == 0 && !by_group) return std::nullopt;
    return Weakness{part, Weakness::Kind::mode,
                    std::string("may be written by ") +
                        ((status.st_mode & S_IWOTH) != 0 ? "others" : "its group") + " (mode " +
                        octal(status.st_mode) + ")"};
  }

  bool is_on_the_way() const { return !ahead_.empty(); }

  bool is_trusted(uid_t user) const { return user == 0 || contains(owners_, user); }

  /// Returns true if the group has an untrusted member. Many systems give each user a group without
  /// other members, and files that this group may write.
  bool has_strangers(gid_t group) const {
    const ::group* const entry = ::getgrgid(group);
    if (entry == nullptr) return true;
    for (char** member = entry->gr_mem; *member != nullptr; ++member) {
      const passwd* const user = ::getpwnam(*member);
      if (user == nullptr || !is_trusted(user->pw_uid)) return true;
    }
    bool found = false;
    ::setpwent();
    while (const passwd* const user = ::getpwent())
      found = found || (user->pw_gid == group && !is_trusted(user->pw_uid));
    ::endpwent();
    return found;
  }

  const std::vector<uid_t>& owners_;
  const std::optional<uid_t> outsiders_ = number_of_outsiders();
  std::deque<fs::path> ahead_;
  int links_ = 0;
};

}  // namespace

std::optional<Weakness> find_weakness(const fs::path& path, const std::vector<uid_t>& owners) {
  return Walk(owners).along(path);
}

}  // namespace fastgpu
