#include "provision/providers/local/image_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "provision/providers/local/durable_files.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

// The marks for fuse-overlayfs, without the rights that the kernel's marks need.
constexpr const char* kNothingBelow = ".wh..wh..opq";
constexpr const char* kNotThere = ".wh.";

/// Returns the owner in a node for `id` here. In a user namespace, all users that have no id there,
/// root among them, appear under the same number.
uid_t owner_in_node(uid_t id, OverlayKind overlay) {
  constexpr uid_t kUnknown = 65'534;
  return overlay == OverlayKind::fuse && id == kUnknown ? 0 : id;
}

}  // namespace

/// Makes `upper` like this machine's `lower`: an overlay shows the upper folder's owner and mode.
void ImageWriter::make_folder_like(const fs::path& upper, const fs::path& lower) {
  if (::mkdir(upper.c_str(), 0755) != 0) {
    if (errno == EEXIST) return;
    throw system_error("making " + upper.string(), errno);
  }
  struct stat ours {};
  if (::stat(lower.c_str(), &ours) != 0 || !S_ISDIR(ours.st_mode)) return;
  if (::chown(upper.c_str(), owner_in_node(ours.st_uid, overlay_),
              owner_in_node(ours.st_gid, overlay_)) != 0 ||
      ::chmod(upper.c_str(), ours.st_mode & 07777) != 0)
    throw system_error("setting the mode of " + upper.string(), errno);
}

fs::path layer_storage(const fs::path& folder, const Layer& layer) {
  return folder / "layers" / layer.storage;
}

ImageWriter::ImageWriter(fs::path folder, std::vector<Layer> layers, OverlayKind overlay)
    : folder_(std::move(folder)), layers_(std::move(layers)), overlay_(overlay) {
  make_private_folder(folder_ / "merged");
  for (const Layer& layer : layers_) {
    const fs::path storage = layer_storage(folder_, layer);
    make_private_folder(storage / "work");
    make_folder_like(storage / "upper", layer.point);
  }
}

fs::path ImageWriter::place(const std::string& path) {
  const PlaceInLayer found = find_place(layers_, path);
  fs::path upper = layer_storage(folder_, *found.layer) / "upper";
  fs::path lower = found.layer->point;
  const fs::path rest = found.rest;
  for (const fs::path& part : rest.parent_path()) {
    upper /= part;
    lower /= part;
    make_folder_like(upper, lower);
  }
  return upper / rest.filename();
}

void ImageWriter::put_file(const std::string& path, std::string_view text, mode_t mode) {
  replace_file(place(path), text, mode, Durability::until_crash);
}

void ImageWriter::put_like_ours(const std::string& path, std::string_view text) {
  struct stat ours {};
  if (::stat(path.c_str(), &ours) != 0) throw system_error("reading " + path, errno);
  const fs::path target = place(path);
  replace_file(target, text, ours.st_mode & 07777, Durability::until_crash);
  if (::chown(target.c_str(), ours.st_uid, ours.st_gid) != 0)
    throw system_error("setting the owner of " + target.string(), errno);
}

void ImageWriter::put_empty_folder(const std::string& path, mode_t mode) {
  const fs::path target = place(path);
  make_folder_like(target, path);
  if (overlay_ == OverlayKind::fuse)
    replace_file(target / kNothingBelow, "", 0600, Durability::until_crash);
  if (::chmod(target.c_str(), mode) != 0 ||
      (overlay_ == OverlayKind::kernel &&
       ::setxattr(target.c_str(), "trusted.overlay.opaque", "y", 1, 0) != 0))
    throw system_error("emptying " + target.string(), errno);
}

void ImageWriter::put_nothing(const std::string& path) {
  const fs::path target = place(path);
  if (overlay_ == OverlayKind::fuse)
    return replace_file(target.parent_path() / (kNotThere + target.filename().string()), "", 0600,
                        Durability::until_crash);
  if (::mknod(target.c_str(), S_IFCHR | 0600, makedev(0, 0)) != 0 && errno != EEXIST)
    throw system_error("hiding " + target.string(), errno);
}

}  // namespace fastgpu::provision::local
