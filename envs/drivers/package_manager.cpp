#include "envs/drivers/package_manager.hpp"

#include "base/error.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

constexpr const char* kKeyPrefix = "fastgpu-nvidia-";
constexpr const char* kDnfHold = "/etc/dnf/fastgpu-hold";
constexpr const char* kAptSource = "/etc/apt/sources.list.d/fastgpu-nvidia.list";

class Apt final : public PackageManager {
 public:
  explicit Apt(const NodeFacts& facts) : arch_(facts.arch == "aarch64" ? "arm64" : "amd64") {}

  std::vector<Argv> repair() const override {
    return {without_questions({"dpkg", "--force-confold", "--configure", "-a"}),
            apt_get({"--fix-broken", "install"})};
  }

  std::vector<NodeFile> hold_files() const override {
    return {{"/etc/apt/apt.conf.d/99fastgpu-hold", "APT::Periodic::Enable \"0\";\n"}};
  }
  std::vector<Argv> reload_hold() const override { return {}; }

  std::vector<NodeFile> repository_files(const std::string& url,
                                         const PinnedKey& key) const override {
    const std::string path =
        std::string("/usr/share/keyrings/") + kKeyPrefix + key.fingerprint + ".asc";
    return {{path, key.text},
            {kAptSource, "deb [signed-by=" + path + " arch=" + arch_ + "] " + url + " /\n"}};
  }

  const PinnedKey& key(const Recipe& recipe) const override { return recipe.apt_key; }

  /// Reads only our source; an unreadable index is an error.
  Argv read_vendor_index() const override {
    return apt_get({"update", "-o", "APT::Update::Error-Mode=any", "-o",
                    std::string("Dir::Etc::SourceList=") + kAptSource, "-o",
                    "Dir::Etc::SourceParts=-", "-o", "APT::Get::List-Cleanup=0"});
  }
  Argv read_distribution_index() const override { return apt_get({"update"}); }

  std::vector<NodeFile> pin_files(const std::string& version) const override {
    return {{"/etc/apt/preferences.d/fastgpu-nvidia",
             "Package: nvidia-* libnvidia-* cuda-drivers* libxnvctrl* xserver-xorg-video-nvidia* "
             "nvlsm libnvsdm\nPin: version " +
                 version + "-*\nPin-Priority: 1001\n"}};
  }

  std::vector<Argv> before_driver(int /*branch*/, bool /*open_modules*/) const override {
    return {};
  }

  Argv install(const std::vector<PackageVersion>& packages) const override {
    std::vector<std::string> words = {"install", "--no-install-recommends", "--allow-downgrades"};
    for (const PackageVersion& package : packages)
      words.push_back(package.name + (package.version.empty() ? "" : "=" + package.version));
    return apt_get(std::move(words));
  }

  std::vector<std::string> build_packages(const NodeFacts& facts) const override {
    return {"dkms", "linux-headers-" + facts.kernel};
  }

  std::string fabric_package() const override { return "libfabric1"; }
  std::vector<std::string> verbs_packages() const override {
    return {"rdma-core", "ibverbs-providers"};
  }

  std::vector<Argv> fetch(const PinnedArchive& archive, const std::string& path) const override {
    return {{"/usr/lib/apt/apt-helper", "download-file", archive.url, path,
             "SHA256:" + archive.sha256}};
  }

 private:
  static Argv without_questions(std::vector<std::string> words) {
    Argv argv = {"env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_MODE=l", "LC_ALL=C"};
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  }

  /// Returns a command that keeps changed configuration files, retries downloads, and waits for
  /// dpkg's lock as long as DriverInstallOptions::lock_limit. A quieter one would not report the
  /// wait.
  static Argv apt_get(std::vector<std::string> words) {
    Argv argv = {"apt-get", "--quiet=1", "--yes"};
    for (const char* setting :
         {"Dpkg::Options::=--force-confold", "Acquire::Retries=3", "DPkg::Lock::Timeout=900"})
      argv.insert(argv.end(), {"-o", setting});
    argv.insert(argv.end(), words.begin(), words.end());
    return without_questions(std::move(argv));
  }

  std::string arch_;
};

class Dnf final : public PackageManager {
 public:
  std::vector<Argv> repair() const override { return {}; }

  /// Returns the files that stop dnf-automatic's services, under each of their names, while the
  /// last file is there. They work after a kill or a reboot, and for any state of the services'
  /// timers.
  std::vector<NodeFile> hold_files() const override {
    std::vector<NodeFile> files;
    for (const char* name :
         {"dnf-automatic", "dnf-automatic-download", "dnf-automatic-install", "dnf5-automatic"})
      files.push_back({std::string("/etc/systemd/system/") + name + ".service.d/fastgpu-hold.conf",
                       std::string("[Unit]\nConditionPathExists=!") + kDnfHold + "\n"});
    files.push_back({kDnfHold, "dnf-automatic waits for fastgpu\n"});
    return files;
  }

  /// Reloads systemd if it runs; without it no service would be started.
  std::vector<Argv> reload_hold() const override {
    return {{"sh", "-c", "test ! -d /run/systemd/system || systemctl daemon-reload"}};
  }

  std::vector<NodeFile> repository_files(const std::string& url,
                                         const PinnedKey& key) const override {
    const std::string path = std::string("/etc/pki/rpm-gpg/") + kKeyPrefix + key.fingerprint;
    return {{path, key.text},
            {"/etc/yum.repos.d/fastgpu-nvidia.repo",
             "[fastgpu-nvidia]\nname=NVIDIA, by fastgpu\nbaseurl=" + url +
                 "\nenabled=1\ngpgcheck=1\ngpgkey=file://" + path + "\n"}};
  }

  const PinnedKey& key(const Recipe& recipe) const override { return recipe.dnf_key; }

  Argv read_vendor_index() const override {
    return {"dnf",       "-y",       "--disablerepo=*", "--enablerepo=fastgpu-nvidia",
            "--refresh", "makecache"};
  }
  Argv read_distribution_index() const override { return {"dnf", "-y", "makecache"}; }

  std::vector<NodeFile> pin_files(const std::string& /*version*/) const override { return {}; }

  /// Selects the module stream of the driver's branch. A repository without modules (RHEL 10)
  /// offers the packages directly.
  std::vector<Argv> before_driver(int branch, bool open_modules) const override {
    static constexpr const char* kScript = R"(
      dnf -q module list nvidia-driver 2>&1 | grep -qi 'no match' && exit 0
      dnf -y module reset nvidia-driver && dnf -y module enable "nvidia-driver:$1")";
    const std::string stream = std::to_string(branch) + (open_modules ? "-open" : "-dkms");
    return {{"sh", "-c", kScript, "sh", stream}};
  }

  Argv install(const std::vector<PackageVersion>& packages) const override {
    Argv argv = {"dnf", "-y", "--setopt=install_weak_deps=False", "--allowerasing", "install"};
    for (const PackageVersion& package : packages)
      argv.push_back(package.name + (package.version.empty() ? "" : "-" + package.version));
    return argv;
  }

  std::vector<std::string> build_packages(const NodeFacts& facts) const override {
    return {"dkms", "kernel-devel-" + facts.kernel};
  }

  std::string fabric_package() const override { return "libfabric"; }
  std::vector<std::string> verbs_packages() const override { return {"rdma-core", "libibverbs"}; }

  std::vector<Argv> fetch(const PinnedArchive& archive, const std::string& path) const override {
    const NodeFile sum{path + ".sha256", archive.sha256 + "  " + path + "\n"};
    return {write_file(sum),
            {"curl", "--fail", "--silent", "--show-error", "--location", "--retry", "3", "--output",
             path, archive.url},
            {"sha256sum", "--check", "--strict", "--quiet", sum.path}};
  }
};

}  // namespace

Argv write_file(const NodeFile& file) {
  // The content and the path are arguments: the shell only inserts them.
  static constexpr const char* kScript = R"(
    umask 022
    mkdir -p "${2%/*}" && printf %s "$1" >"$2.new" && mv -f "$2.new" "$2")";
  return {"sh", "-c", kScript, "sh", file.content, file.path};
}

bool has_file(const NodeFacts& facts, const NodeFile& file) {
  const auto found = facts.files.find(file.path);
  if (found == facts.files.end()) return false;
  // An unknown content is known by its name: see Apt::repository_files.
  return file.content.empty() || found->second == transfer::sha256_hex(file.content);
}

std::unique_ptr<PackageManager> package_manager(const NodeFacts& facts) {
  switch (facts.packages) {
    case Packages::apt:
      return std::make_unique<Apt>(facts);
    case Packages::dnf:
      return std::make_unique<Dnf>();
    case Packages::none:
    case Packages::yum:
    case Packages::zypper:
      break;
  }
  throw Error(ErrorKind::usage,
              "drivers are installed by apt or dnf, but '" + facts.os.name + "' has neither");
}

}  // namespace fastgpu::envs
