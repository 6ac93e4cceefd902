#include "envs/facts/facts.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kLargest = 1 << 20;
constexpr std::size_t kMostFields = 8;
constexpr std::size_t kLongestField = 512;
constexpr std::string_view kFirstLine = "fastgpu-facts\t1";

std::uint64_t number(std::string_view text) {
  return leading_number<std::uint64_t>(text).value_or(0);
}

Bytes product(std::uint64_t count, std::uint64_t each) {
  if (each != 0 && count > UINT64_MAX / each) return {UINT64_MAX};
  return {count * each};
}

std::vector<std::string> words_of(std::string_view text) {
  const auto words = split_words(text, " ");
  return {words.begin(), words.end()};
}

/// Returns the first word with a dot that begins with a digit: the version in the kernel module's
/// text.
std::string first_version(std::string_view text) {
  for (const std::string& word : words_of(text))
    if (is_ascii_digit(word.front()) && word.find('.') != std::string::npos) return word;
  return "";
}

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (!item.empty() && !contains(list, item)) list.push_back(item);
}

/// One line, whose missing values are empty.
class Line {
 public:
  explicit Line(std::string_view text) {
    while (fields_.size() < kMostFields) {
      const std::size_t end = std::min(text.find('\t'), text.size());
      fields_.push_back(cleaned(text.substr(0, end)));
      if (end == text.size()) break;
      text.remove_prefix(end + 1);
    }
  }

  const std::string& word() const { return fields_.front(); }
  std::string operator[](std::size_t value) const {
    return value + 1 < fields_.size() ? fields_[value + 1] : "";
  }

 private:
  static std::string cleaned(std::string_view field) {
    std::string text(field.substr(0, kLongestField));
    std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
    return text;
  }

  std::vector<std::string> fields_;
};

class Reader {
 public:
  void read(const Line& line) {
    if (!read_system(line) && !read_devices(line)) read_software(line);
  }

  NodeFacts finish() {
    if (facts_.gpus.empty())
      facts_.gpus = std::move(seen_by_tools_);
    else
      name_gpus();
    return std::move(facts_);
  }

 private:
  bool read_system(const Line& line) {
    const std::string& word = line.word();
    if (word == "host")
      facts_.host = line[0];
    else if (word == "kernel")
      facts_.kernel = line[0];
    else if (word == "arch")
      facts_.arch = line[0];
    else if (word == "user")
      facts_.user = line[0];
    else if (word == "home")
      facts_.home = line[0];
    else if (word == "boot")
      facts_.boot_id = line[0];
    else if (word == "libc")
      facts_.libc = line[0];
    else if (word == "os")
      facts_.os = {line[0], words_of(line[4]), line[1], line[2], line[3]};
    else if (word == "cores")
      facts_.cores = static_cast<int>(std::clamp<std::uint64_t>(number(line[0]), 1, 1 << 20));
    else if (word == "memory")
      facts_.memory = product(number(line[0]), 1024);
    else if (word == "secure_boot")
      facts_.secure_boot = line[0] == "1";
    else if (word == "reboot_wanted")
      facts_.reboot_wanted = true;
    else if (word == "sudo")
      facts_.sudo = sudo_of(line[0]);
    else
      return false;
    return true;
  }

  bool read_devices(const Line& line) {
    const std::string& word = line.word();
    if (word == "pci")
      add_device(line);
    else if (word == "nvidia_loaded") {
      facts_.nvidia.loaded = first_version(line[0]);
      facts_.nvidia.open = line[0].find("Open Kernel Module") != std::string::npos;
    } else if (word == "nvidia_smi")
      add_tool_gpu(line[0]);
    else if (word == "nvidia_proc")
      names_in_proc_.push_back(line[0]);
    else if (word == "nvidia_module")
      facts_.nvidia.installed = line[0];
    else if (word == "npu")
      seen_by_tools_.push_back({.vendor = "ascend"});
    else if (word == "rdma")
      facts_.rdma.push_back({line[0], line[1]});
    else if (word == "rdma_file")
      facts_.rdma_files.push_back({line[0], is_open_to_all(line[1])});
    else if (word == "module") {
      add_once(facts_.modules, line[0]);
      if (line[0] == "nouveau") facts_.nvidia.nouveau = true;
    } else
      return false;
    return true;
  }

  void read_software(const Line& line) {
    const std::string& word = line.word();
    if (word == "cuda")
      add_once(facts_.cuda, line[0]);
    else if (word == "nccl")
      facts_.nccl = facts_.nccl.empty() ? line[0] : facts_.nccl;
    else if (word == "cann")
      facts_.cann = line[0];
    else if (word == "cann_there")
      add_once(facts_.canns, line[0]);
    else if (word == "efa")
      facts_.efa = line[0];
    else if (word == "python")
      facts_.pythons.push_back({line[0], line[1]});
    else if (word == "disk")
      facts_.disks.push_back({line[0], line[1], product(number(line[3]), number(line[2])),
                              product(number(line[4]), number(line[2]))});
    else if (word == "packages")
      facts_.packages = packages_of(line[0]);
    else if (word == "installed")
      facts_.installed[line[0]] = line[1];
    else if (word == "candidate")
      add_once(facts_.candidates[line[0]], line[1]);
    else if (word == "packages_broken")
      facts_.packages_broken = true;
    else if (word == "file")
      facts_.files[line[0]] = line[1];
    else if (word == "service")
      add_once(facts_.services, line[0]);
  }

  /// Returns whether the mode of a file, "666", lets every user read and write it.
  static bool is_open_to_all(std::string_view mode) {
    constexpr std::string_view kOpen = "67";
    return !mode.empty() && kOpen.find(mode.back()) != kOpen.npos;
  }

  static Sudo sudo_of(const std::string& word) {
    if (word == "not_needed") return Sudo::not_needed;
    if (word == "free") return Sudo::free;
    if (word == "terminal") return Sudo::terminal;
    return word == "password" ? Sudo::password : Sudo::none;
  }

  static Packages packages_of(const std::string& word) {
    if (word == "apt") return Packages::apt;
    if (word == "dnf") return Packages::dnf;
    if (word == "yum") return Packages::yum;
    return word == "zypper" ? Packages::zypper : Packages::none;
  }

  /// Adds one line of sysfs or lspci; the same device comes from both.
  void add_device(const Line& line) {
    if (!slots_.insert(line[0]).second) return;
    const std::string kind = line[1].substr(0, 4);
    const std::string vendor = line[2].substr(std::min<std::size_t>(2, line[2].size()));
    const std::string device = line[3].substr(std::min<std::size_t>(2, line[3].size()));
    const bool draws = kind.starts_with("03");
    if (vendor == "10de" && draws) facts_.gpus.push_back({.vendor = "nvidia", .pci_id = device});
    if (vendor == "10de" && kind == "0680") ++facts_.nvidia.nvswitches;
    if (vendor == "1002" && draws) facts_.gpus.push_back({.vendor = "amd", .pci_id = device});
    if (vendor == "19e5" && kind == "1200")
      facts_.gpus.push_back({.vendor = "ascend", .pci_id = device});
    if (kind.starts_with("02")) facts_.pci_adapters.push_back(vendor + ":" + device);
  }

  /// Adds a line such as "NVIDIA L40S, 46068, 550.54.14".
  void add_tool_gpu(const std::string& line) {
    const std::size_t first = line.find(',');
    if (first == std::string::npos) return;  // An error message in place of a GPU.
    const std::size_t second = std::min(line.find(',', first + 1), line.size());
    const std::string_view memory = trimmed(line.substr(first + 1, second - first - 1));
    const std::string driver(second < line.size() ? trimmed(line.substr(second + 1)) : "");
    seen_by_tools_.push_back({.vendor = "nvidia",
                              .model = line.substr(0, first),
                              .memory = product(number(memory), 1 << 20)});
    facts_.nvidia.answers = true;
    if (facts_.nvidia.loaded.empty()) facts_.nvidia.loaded = driver;
  }

  /// Adds the tools' data to the GPUs of the bus, if the tools see all of them.
  void name_gpus() {
    std::size_t at = 0;
    for (Gpu& gpu : facts_.gpus) {
      if (gpu.vendor != "nvidia") continue;
      if (at < seen_by_tools_.size() && seen_by_tools_[at].vendor == "nvidia") {
        gpu.model = seen_by_tools_[at].model;
        gpu.memory = seen_by_tools_[at].memory;
      } else if (at < names_in_proc_.size()) {
        gpu.model = names_in_proc_[at];
      }
      ++at;
    }
  }

  NodeFacts facts_;
  std::vector<Gpu> seen_by_tools_;
  std::vector<std::string> names_in_proc_;
  std::set<std::string> slots_;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

bool Disk::over_network() const noexcept {
  return type.starts_with("nfs") || type == "cifs" || type == "smb2" || type == "lustre" ||
         type == "ceph" || type == "fuseblk.sshfs";
}

NodeFacts parse_facts(std::string_view text) {
  if (text.size() > kLargest)
    throw Error(ErrorKind::remote, "the facts of the node are over 1 MiB");
  const std::string_view whole = text;
  while (!text.empty() && take_line(text) != kFirstLine)
    continue;
  if (text.empty())
    throw Error(ErrorKind::remote, "the node sent no facts but '" + printable(whole) + "'");
  Reader reader;
  while (!text.empty()) {
    const Line line(take_line(text));
    if (line.word() == "end") return reader.finish();
    reader.read(line);
  }
  throw Error(ErrorKind::remote, "the facts of the node are truncated");
}

std::string glibc_version(const NodeFacts& facts) {
  constexpr std::string_view kName = "glibc ";
  return facts.libc.starts_with(kName) ? facts.libc.substr(kName.size()) : "";
}

std::string describe_gpus(const NodeFacts& facts) {
  if (facts.gpus.empty()) return "no GPU";
  const Gpu& first = facts.gpus.front();
  const std::string unknown = first.vendor + (first.pci_id.empty() ? "" : " " + first.pci_id);
  return std::to_string(facts.gpus.size()) + " x " + (first.model.empty() ? unknown : first.model);
}

}  // namespace fastgpu::envs
