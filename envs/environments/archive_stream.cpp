#include "envs/environments/archive_stream.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"

namespace fastgpu::envs {
namespace {

using transfer::TarEntry;
using transfer::TarKind;

/// The size at which records are sent. With one more block it still fits into one packed run.
constexpr std::size_t kWorthSending = transfer::kLongestRun - transfer::kLargestBlock - 65'536;

/// Returns the path below the folder that contains everything.
std::string inner(const std::string& path) {
  const auto slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(slash + 1);
}

}  // namespace

ArchiveStream::ArchiveStream(const EnvironmentArchive& archive, std::filesystem::path scratch,
                             const Cancel& cancel)
    : archive_(archive),
      scratch_(std::move(scratch)),
      file_(archive.file, cancel),
      buffer_(transfer::kLargestBlock, '\0') {}

std::optional<std::string> ArchiveStream::next() try {
  std::string records;
  while (!is_over_ && records.size() < kWorthSending)
    add_more(records);
  if (records.empty()) return std::nullopt;
  return pack_records(std::move(records), packer_);
} catch (const Error& e) {
  throw e.during(archive_.file.string());
}

void ArchiveStream::add_more(std::string& records) {
  if (sum_) return add_content(records);
  const auto entry = file_.entries().next();
  if (entry) return add_entry(records, *entry);
  is_over_ = true;
  encode(records, transfer::EndRecord{});
}

void ArchiveStream::add_entry(std::string& records, const TarEntry& entry) {
  const std::string path = inner(entry.path);
  if (entry.kind == TarKind::file && archive_.linked.contains(path)) keep_content(path);
  if (archive_.left_out.contains(path)) return;
  switch (entry.kind) {
    case TarKind::directory:
      return encode(records, transfer::DirectoryRecord{entry.path, entry.mode, entry.modified});
    case TarKind::link:
      return encode(records, transfer::LinkRecord{entry.path, entry.target, entry.modified});
    case TarKind::file:
    case TarKind::hard_link:
      encode(records, transfer::FileRecord{entry.path, entry.mode, entry.modified});
      go_to_kept(entry.kind == TarKind::file ? path : inner(entry.target));
      sum_.emplace();
      return;
    case TarKind::other:  // Never in an archive that was checked.
      throw Error(ErrorKind::usage, "it has changed since it was checked");
  }
}

void ArchiveStream::add_content(std::string& records) {
  if (const std::size_t size = read_content()) {
    const std::string_view bytes(buffer_.data(), size);
    sum_->add(bytes);
    return encode(records, transfer::BlockRecord{bytes});
  }
  encode(records, transfer::SumRecord{sum_->finish()});
  sum_.reset();
}

void ArchiveStream::keep_content(const std::string& path) {
  const auto file = scratch_ / ("linked-" + std::to_string(kept_.size()));
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) throw system_error("making " + file.string(), errno);
  while (const std::size_t size = file_.entries().read(buffer_))
    write_all(fd.get(), {buffer_.data(), size}, "keeping a file of it");
  kept_.insert_or_assign(path, std::move(fd));
}

void ArchiveStream::go_to_kept(const std::string& path) {
  const auto found = kept_.find(path);
  content_ = found == kept_.end() ? -1 : found->second.get();
  if (content_ >= 0) ::lseek(content_, 0, SEEK_SET);
}

std::size_t ArchiveStream::read_content() {
  if (content_ < 0) return file_.entries().read(buffer_);
  for (;;) {
    const ssize_t size = ::read(content_, buffer_.data(), buffer_.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR) throw system_error("reading the kept part of it", errno);
  }
}

}  // namespace fastgpu::envs
