#include "cli/program/legacy_syntax.hpp"

#include <ini.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

using Words = std::vector<std::string>;

enum class Meaning : std::uint8_t {
  name,       ///< The cluster's name, which is not a flag in fastgpu.
  option,     ///< Becomes a flag with a value.
  flag,       ///< Becomes a flag without a value.
  dropped,    ///< Has no meaning in fastgpu and is dropped.
  image,      ///< A family of images.
  data_disk,  ///< The disk's size; 0: none.
  refused,    ///< Refused: another command of fastgpu does this.
  file,       ///< The path of a create.cfg.
};

struct Original {
  std::array<std::string_view, 3> flags;
  std::string_view key;  ///< The key in create.cfg; empty if that file has no such key.
  Meaning meaning;
  std::string_view ours{};
};

constexpr std::array kOriginals = {
    Original{{"-n", "--name"}, "name", Meaning::name},
    Original{{"-np", "--machines", "--machine"}, "machines", Meaning::option, "--nodes"},
    Original{{"-i", "--instance_type"}, "instance_type", Meaning::option, "--instance-type"},
    Original{{"--image", "--image_name"}, "image_name", Meaning::option, "--image"},
    Original{{"--image_type"}, "image_type", Meaning::image},
    Original{{"--system_disk_size"}, "system_disk_size", Meaning::option, "--disk"},
    Original{{"--data_disk_size"}, "data_disk_size", Meaning::data_disk, "--data-disk"},
    Original{{"--zone_id"}, "zone_id", Meaning::option, "--zone"},
    Original{{"-vpc", "--vpc", "--vpc_name"}, "vpc_name", Meaning::option, "--vpc"},
    Original{{"--spot"}, "spot", Meaning::flag, "--spot"},
    Original{{"--confirm_cost"}, "confirm_cost", Meaning::flag, "--yes"},
    Original{{"--skip_setup"}, "skip_setup", Meaning::dropped},
    Original{{"-nas", "--nas", "--enable-nas"},
             "",
             Meaning::refused,
             "name the export: --mount ADDRESS:/EXPORT mounts it at /fastgpu (fastgpu mount adds "
             "it later)"},
    Original{{"-cuda", "--install_cuda", "--cuda_install"},
             "",
             Meaning::refused,
             "install it once the cluster runs: fastgpu env install-driver --cluster CLUSTER"},
    Original{{"--install_script"},
             "install_script",
             Meaning::refused,
             "run it once the cluster runs: fastgpu exec CLUSTER -- sh -c 'COMMANDS'"},
    Original{{"-f", "-c", "--config"}, "", Meaning::file},
};

constexpr std::array kVerbsOfClusters = {"stop", "start", "kill", "rename", "addip", "mount"};

const Original* find_flag(std::string_view word) {
  for (const Original& original : kOriginals)
    if (!word.empty() && contains(original.flags, word)) return &original;
  return nullptr;
}

/// Translates a create command with the original's flags or file.
class Creation {
 public:
  explicit Creation(const ReadText& read) : read_(read) {}

  /// Translates one flag of the original, which begins at `words[at]`. Returns the number of words
  /// that it takes.
  std::size_t take(const Words& words, std::size_t at) {
    const std::size_t equals = words[at].find('=');
    const std::string flag = words[at].substr(0, equals);
    const Original* original = find_flag(flag);
    if (original == nullptr) return keep(words, at);
    if (takes_none(*original)) {
      if (equals != std::string::npos) throw Error(ErrorKind::usage, flag + " takes no value");
      apply(*original, flag, "", flags_);
      return 1;
    }
    const bool is_attached = equals != std::string::npos;
    if (!is_attached && (at + 1 >= words.size() || find_flag(words[at + 1]) != nullptr))
      throw Error(ErrorKind::usage, flag + " needs a value");
    const std::string value = is_attached ? words[at].substr(equals + 1) : words[at + 1];
    if (value.empty()) throw Error(ErrorKind::usage, "the value of " + flag + " is empty");
    if (is_our_file(*original, value)) return keep(words, at);
    apply(*original, flag, value, flags_);
    return is_attached ? 1 : 2;
  }

  /// Returns the translation. A flag wins over the file.
  Words words() const {
    Words result = {"create", "cluster"};
    const std::string& name = flags_.name.empty() ? file_.name : flags_.name;
    if (!name.empty()) result.push_back(name);
    result.insert(result.end(), flags_.options.begin(), flags_.options.end());
    for (const std::string& option : file_.options)
      if (!is_given(option.substr(0, option.find('=')))) result.push_back(option);
    result.insert(result.end(), rest_.begin(), rest_.end());
    return result;
  }

 private:
  /// The values of the flags, or those of the file.
  struct Values {
    std::string name{};
    Words options{};
    std::set<std::string, std::less<>> given{};  ///< The flags of ours that have been named.
  };

  /// Returns true if the command line has this flag of ours, in either spelling.
  bool is_given(const std::string& flag) const {
    const auto is_it = [&](const std::string& word) {
      return word == flag || word.starts_with(flag + "=");
    };
    return flags_.given.contains(flag) || std::ranges::any_of(rest_, is_it);
  }

  std::size_t keep(const Words& words, std::size_t at) {
    rest_.push_back(words[at]);
    return 1;
  }

  /// Returns true for a cluster file of fastgpu: -f cluster.yaml.
  static bool is_our_file(const Original& original, const std::string& path) {
    if (original.meaning != Meaning::file) return false;
    return path.ends_with(".yaml") || path.ends_with(".yml") || path == "-";
  }

  static bool takes_none(const Original& original) {
    return original.meaning == Meaning::flag || original.meaning == Meaning::dropped ||
           (original.meaning == Meaning::refused && original.key.empty());
  }

  void apply(const Original& original, const std::string& said, const std::string& value,
             Values& values) {
    values.given.emplace(original.ours);
    switch (original.meaning) {
      case Meaning::name:
        values.name = value;
        return;
      case Meaning::option:
        values.options.push_back(std::string(original.ours) + "=" + value);
        return;
      case Meaning::flag:
        values.options.emplace_back(original.ours);
        return;
      case Meaning::dropped:
        return;
      case Meaning::image:
        check_image(value);
        return;
      case Meaning::data_disk:
        if (value != "0") values.options.push_back(std::string(original.ours) + "=" + value);
        return;
      case Meaning::refused:
        throw Error(ErrorKind::usage, said + ": " + std::string(original.ours));
      case Meaning::file:
        read_file(value);
        return;
    }
  }

  static void check_image(const std::string& family) {
    if (ascii_lower(family) != "ubuntu")
      throw Error(ErrorKind::usage, "--image_type " + printable(family) +
                                        ": the default image is Ubuntu; choose another with "
                                        "--image (fastgpu queryimage lists them)");
  }

  void read_file(const std::string& path) {
    const std::string text = read_(path);
    error_.clear();
    const int line = ini_parse_string(text.c_str(), &Creation::heard, this);
    if (!error_.empty()) throw Error(ErrorKind::usage, path + ": " + error_);
    if (line != 0)
      throw Error(ErrorKind::usage,
                  path + " line " + std::to_string(line) + " is not a valid line of a create.cfg");
  }

  static int heard(void* self, const char* section, const char* key, const char* value) {
    auto& creation = *static_cast<Creation*>(self);
    try {
      creation.hear(section, key, value);
    } catch (const Error& e) {  // No exception may pass through the C parser.
      if (creation.error_.empty()) creation.error_ = e.what();
    }
    return 1;
  }

  static bool is_set(const std::string& where, const std::string& value) {
    try {
      return parse_boolean(value);
    } catch (const Error& e) {
      throw e.during(where);
    }
  }

  void hear(const std::string& section, const std::string& key, const std::string& value) {
    if (key == "disable_nas" || value.empty()) return;
    for (const Original& original : kOriginals) {
      if (original.key.empty() || original.key != key) continue;
      const std::string where = "[" + printable(section) + "] " + printable(key);
      if (takes_none(original) && !is_set(where, value)) return;
      if (original.meaning == Meaning::refused && value == "pwd") return;
      apply(original, where, value, file_);
      return;
    }
    throw Error(ErrorKind::usage,
                "[" + printable(section) + "] " + printable(key) + " is not a key of a create.cfg");
  }

  const ReadText& read_;
  Values flags_;
  Values file_;
  Words rest_;  ///< Words that need no translation.
  std::string error_;
};

Words creation_in_our_words(const Words& words, const ReadText& read) {
  Creation creation(read);
  for (std::size_t at = 1; at < words.size();)
    at += creation.take(words, at);
  return creation.words();
}

/// Splits "task0.demo", the original's name of one machine, into its parts.
std::optional<std::pair<std::string, std::string>> host_word_of(const std::string& word) {
  const std::size_t dot = word.find('.');
  if (!word.starts_with("task") || dot == std::string::npos || dot == 4) return std::nullopt;
  const std::string number = word.substr(4, dot - 4);
  if (number.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::pair(number, word.substr(dot + 1));
}

/// Translates a target: "task0.demo" becomes "demo/0" for commands on single nodes, "{demo}"
/// becomes "demo".
std::string target_in_our_words(const std::string& verb, const std::string& word) {
  if (word.size() > 2 && word.front() == '{' && word.back() == '}')
    return word.substr(1, word.size() - 2);
  const auto machine = host_word_of(word);
  if (!machine) return word;
  if (!contains(kVerbsOfClusters, verb)) return machine->second + "/" + machine->first;
  throw Error(ErrorKind::usage, verb + " is for whole clusters: fastgpu " + verb + " " +
                                    machine->second +
                                    " (fastgpu scale cluster changes the number of nodes)");
}

}  // namespace

Words translate_legacy_command(Words words, const ReadText& read) {
  if (words.size() < 2) return words;
  const std::string verb = words[0];
  if (verb == "create" && words[1].starts_with("-") && words[1].size() > 1 && words[1] != "--")
    return creation_in_our_words(words, read);
  if (verb == "ls") std::erase_if(words, [](const auto& w) { return w == "-a" || w == "--stop"; });
  if (verb == "kill") std::ranges::replace(words, std::string("-f"), std::string("--yes"));
  const bool has_target = verb == "ssh" || verb == "tmux" || verb == "stop" || verb == "start" ||
                          verb == "kill" || verb == "addip" || verb == "mount" || verb == "rename";
  if (!has_target) return words;
  std::size_t at = 1;
  while (at < words.size() && words[at].starts_with("-"))
    ++at;
  if (at >= words.size()) return words;
  const bool ends = verb == "stop" || verb == "kill";
  if (ends && (words[at] == "job" || words[at] == "jobs") && at + 1 < words.size())
    throw Error(ErrorKind::usage, verb + " is for clusters: fastgpu cancel job " +
                                      printable(words[at + 1]) + " stops a job");
  words[at] = target_in_our_words(verb, words[at]);
  const bool lacks_noun = verb == "stop" || verb == "start" || verb == "rename";
  if (lacks_noun && words[1] != "cluster" && words[1] != "clusters")
    words.insert(words.begin() + 1, "cluster");
  return words;
}

}  // namespace fastgpu::cli
