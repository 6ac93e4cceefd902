#include "provision/providers/local/node_image.hpp"

#include <pwd.h>
#include <unistd.h>

#include <system_error>

#include "base/host_names.hpp"
#include "base/test_setting.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

void write_keys(ImageWriter& image, const NodeRequest& request) {
  image.put_file("/etc/ssh/ssh_host_ed25519_key", request.host_private_key.reveal(), 0600);
  image.put_file("/etc/ssh/ssh_host_ed25519_key.pub", request.host_public_key + "\n", 0644);
  image.put_file("/etc/fastgpu/authorized_keys", request.authorized_key + "\n", 0644);
  image.put_file(kSshdConfig, sshd_config(), 0644);
}

/// Writes the accounts, without passwords: only root can read this machine's, and all log-ins are
/// by key.
void write_accounts(ImageWriter& image, const ImagePlan& plan) {
  if (plan.overlay == OverlayKind::fuse) {
    image.put_file("/etc/shadow", shadow_without_passwords(read_file("/etc/passwd").value_or("")),
                   0640);
    image.put_empty_folder("/root", 0700);
  } else if (const auto shadow = read_file("/etc/shadow")) {
    image.put_like_ours("/etc/shadow", unlock_accounts(*shadow, plan.open_accounts));
  }
}

/// Hides this machine's own host keys, which identify it and must not identify a node.
void hide_host_keys(ImageWriter& image) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/etc/ssh", none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("ssh_host_") && !name.starts_with("ssh_host_ed25519_key"))
      image.put_nothing(entry.path().string());
  }
}

std::vector<fs::path> existing(const std::vector<fs::path>& homes) {
  std::error_code none;
  std::vector<fs::path> found;
  for (const fs::path& home : homes) {
    const fs::path real = fs::weakly_canonical(home, none);
    if (real.is_absolute() && real != "/" && fs::is_directory(real, none)) found.push_back(real);
  }
  return found;
}

void hide_user_keys(ImageWriter& image, const std::vector<fs::path>& homes) {
  for (const fs::path& home : homes)
    image.put_empty_folder((home / ".ssh").string(), 0700);
}

/// Hides this machine's ~/.bashrc, which bash reads for each command that comes by SSH.
void hide_startup_files(ImageWriter& image, const std::vector<fs::path>& homes) {
  for (const fs::path& home : homes)
    image.put_file((home / ".bashrc").string(), "", 0644);
}

std::string random_machine_id() {
  std::string id;
  for (const char c : read_file("/proc/sys/kernel/random/uuid").value_or(""))
    if (c != '-') id += c;
  return id;
}

fs::path home_of(const passwd* user) {
  return user == nullptr ? fs::path() : user->pw_dir;
}

}  // namespace

void fill_image(const ImagePlan& plan, const NodeRequest& request) {
  ImageWriter image(plan.folder, plan.layers, plan.overlay);
  image.put_file("/etc/hostname", host_form(request.name.value) + "\n", 0644);
  image.put_file("/etc/hosts", plan.hosts, 0644);
  image.put_file("/etc/resolv.conf", "# Names come from /etc/hosts\n", 0644);
  image.put_file("/etc/machine-id", random_machine_id(), 0444);
  write_keys(image, request);
  hide_host_keys(image);
  write_accounts(image, plan);
  image.put_empty_folder("/tmp", 01777);
  const std::vector<fs::path> homes = existing(plan.private_homes);
  hide_user_keys(image, homes);
  if (is_set_by_test("FASTGPU_TEST_PLAIN_SHELLS")) hide_startup_files(image, homes);
}

std::vector<fs::path> own_homes() {
  std::vector<fs::path> homes;
  for (const uid_t user : {uid_t{0}, ::getuid()})
    if (const fs::path home = home_of(::getpwuid(user)); !home.empty()) homes.push_back(home);
  return homes;
}

}  // namespace fastgpu::provision::local
