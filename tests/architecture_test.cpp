// Who may include whom: the table of docs/architecture.md, enforced.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Modules = std::set<std::string>;

const std::map<std::string, Modules> kMayInclude = {
    {"base", {}},
    {"precompiled", {"base", "precompiled"}},
    {"config", {"base"}},
    {"http", {"base"}},
    {"process", {"base"}},
    {"ssh", {"base", "process"}},
    {"transfer", {"base"}},
    {"state", {"base", "config"}},
    {"remote", {"base", "ssh", "transfer"}},
    {"provision", {"base", "config", "http", "process", "state", "transfer"}},
    {"launcher",
     {"agent", "base", "config", "http", "process", "remote", "ssh", "state", "transfer"}},
    {"envs", {"agent", "base", "config", "http", "process", "remote", "ssh", "state", "transfer"}},
    {"agent", {"base", "process", "transfer"}},
    {"comm", {"base"}},
    {"cli",
     {"base", "comm", "config", "envs", "http", "launcher", "process", "provision", "remote", "ssh",
      "state", "transfer"}},
};

/// The paths that a file includes in quotes, such as "module/file.hpp".
std::vector<std::string> includes_of(const fs::path& file) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> found;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(kInclude))
      found.push_back(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
  return found;
}

/// The modules that one file includes. Texts that the build makes of templates/ are none.
Modules included_by(const fs::path& file) {
  Modules found;
  for (const std::string& path : includes_of(file)) {
    const std::string module = path.substr(0, path.find('/'));
    if (kMayInclude.contains(module)) found.insert(module);
  }
  return found;
}

fs::path folder_of(const std::string& module) {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  return fs::exists(root / "src" / module) ? root / "src" / module : root / module;
}

bool is_source(const fs::path& file) {
  const std::string suffix = file.extension();
  return suffix == ".cpp" || suffix == ".hpp" || suffix == ".c" || suffix == ".h";
}

TEST_SUITE_BEGIN("architecture");

TEST_CASE("every module includes only the modules below it") {
  for (const auto& [module, allowed] : kMayInclude) {
    const fs::path folder = folder_of(module);
    REQUIRE_MESSAGE(fs::exists(folder), "no folder for module " << module);
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!is_source(entry.path())) continue;
      for (const std::string& used : included_by(entry.path())) {
        const bool permitted = used == module || allowed.contains(used);
        CHECK_MESSAGE(permitted, entry.path().string() << " may not include " << used);
      }
    }
  }
}

TEST_CASE("every folder with sources is in the table") {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const auto& entry : fs::directory_iterator(root / "src")) {
    if (!entry.is_directory()) continue;
    CHECK_MESSAGE(kMayInclude.contains(entry.path().filename()),
                  "src/" << entry.path().filename().string() << " is missing in the table");
  }
}

/// The folders of a module that is one way inside, from the lowest to the highest: a folder
/// includes those before it alone.
const std::map<std::string, std::vector<std::string>> kFloors = {
    {"comm",
     {"common", "kernels", "codecs", "schedule", "mpi", "fabric", "transports", "rendezvous",
      "engine", "communicator", "trace", "fusion", "gpu", "gradients", "gossip", "multistep",
      "simulator", "c_api", "bench"}},
};
/// The folders of such a module that belong to its users.
const std::map<std::string, std::set<std::string>> kOutside = {
    {"comm", {"bindings", "examples", "include"}},
};

/// The source files of `module` and the files of the same module that each includes, as written.
std::map<std::string, std::vector<std::string>> includes_inside(const std::string& module) {
  static const std::regex kInclude(R"re(^\s*#include "([^"]+)")re");
  std::map<std::string, std::vector<std::string>> files;
  const fs::path folder = folder_of(module);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path()) && entry.path().extension() != ".cu") continue;
    auto& included = files[module + "/" + fs::relative(entry.path(), folder).string()];
    std::ifstream in(entry.path());
    std::smatch match;
    for (std::string line; std::getline(in, line);)
      if (std::regex_search(line, match, kInclude) && match[1].str().starts_with(module + "/"))
        included.push_back(match[1]);
  }
  return files;
}

/// Returns the folder within `module` of one of its files; empty where it is in none.
std::string floor_of(const std::string& module, const std::string& file) {
  const std::string inside = file.substr(module.size() + 1);
  const auto slash = inside.find('/');
  return slash == inside.npos ? "" : inside.substr(0, slash);
}

TEST_CASE("inside a module a folder includes only the folders below it") {
  for (const auto& [module, floors] : kFloors) {
    const auto height = [&order = floors](const std::string& folder) {
      return std::find(order.begin(), order.end(), folder) - order.begin();
    };
    const auto top = static_cast<std::ptrdiff_t>(floors.size());
    for (const auto& [file, included] : includes_inside(module)) {
      const std::string floor = floor_of(module, file);
      if (kOutside.at(module).contains(floor)) continue;
      REQUIRE_MESSAGE(!floor.empty(), file << " is in no folder of its module");
      REQUIRE_MESSAGE(height(floor) < top, file << " is in a folder that is missing in the table");
      for (const std::string& used : included) {
        const std::string other = floor_of(module, used);
        const bool is_below = height(other) <= height(floor) || kOutside.at(module).contains(other);
        CHECK_MESSAGE(is_below, file << " may not include " << used);
      }
    }
  }
}

/// Fails where `file` includes itself over others; `path` has the files that led to it.
void check_includes_end(const std::map<std::string, std::vector<std::string>>& files,
                        const std::string& file, std::vector<std::string>& path,
                        std::set<std::string>& finished) {
  if (finished.contains(file)) return;
  const bool is_circle = std::find(path.begin(), path.end(), file) != path.end();
  CHECK_MESSAGE(!is_circle, file << " includes itself over " << (path.empty() ? "" : path.back()));
  if (is_circle) return;
  path.push_back(file);
  if (const auto found = files.find(file); found != files.end())
    for (const std::string& used : found->second)
      check_includes_end(files, used, path, finished);
  path.pop_back();
  finished.insert(file);
}

TEST_CASE("no file of a module that is one way inside includes itself over others") {
  for (const auto& [module, floors] : kFloors) {
    const auto files = includes_inside(module);
    std::vector<std::string> path;
    std::set<std::string> finished;
    for (const auto& [file, included] : files)
      check_includes_end(files, file, path, finished);
  }
}

TEST_CASE("the engine of comm knows transports by their interfaces alone") {
  const std::set<std::string> interfaces = {
      "comm/transports/abort_reason.hpp", "comm/transports/control_channel.hpp",
      "comm/transports/heap.hpp", "comm/transports/message_type.hpp",
      "comm/transports/transport.hpp"};
  for (const auto& [file, included] : includes_inside("comm")) {
    if (floor_of("comm", file) != "engine") continue;
    for (const std::string& used : included) {
      const std::string floor = floor_of("comm", used);
      const bool is_concrete =
          floor == "mpi" || (floor == "transports" && !interfaces.contains(used));
      CHECK_MESSAGE(!is_concrete, file << " may not include " << used);
    }
  }
}

TEST_CASE("each folder of a module that is one way inside is a library of its own") {
  for (const auto& [module, floors] : kFloors)
    for (const std::string& floor : floors) {
      std::ifstream in(folder_of(module) / floor / "meson.build");
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      const std::string library = "static_library('fastgpu_" + module + "_" + floor + "'";
      CHECK_MESSAGE(text.find(library) != text.npos,
                    module << "/" << floor << "/meson.build makes no " << library << ")");
    }
}

/// Calls that are safe in one place alone, and the files that may make them.
const std::map<std::string, std::set<std::string>> kOnlyIn = {
    // A command for a host is a script for /bin/sh, and what sends it says so to any login shell.
    {"login_shell_command(",
     {"src/base/login_shell.hpp", "src/base/login_shell.cpp", "src/ssh/running_command.cpp",
      "src/ssh/interactive.cpp", "src/ssh/openssh_session.cpp", "src/agent/files/relay.cpp",
      "src/agent/jobs/rsh.cpp"}},
    {"libssh2_channel_process_startup(", {"src/ssh/libssh2_link.cpp", "src/ssh/interactive.cpp"}},
    // It follows links: what a name leads to may be another thing by now. Open, look, then fchmod.
    {"fchmodat(", {"src/transfer/across.cpp"}},
};

TEST_CASE("what is safe in one place alone is done there alone") {
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const auto& [module, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(folder_of(module))) {
      if (!is_source(entry.path())) continue;
      const std::string file = fs::relative(entry.path(), root);
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (const auto& [call, files] : kOnlyIn)
        CHECK_MESSAGE((text.find(call) == text.npos || files.contains(file)),
                      file << " may not call " << call << ")");
    }
  }
}

/// The files outside src/state that may have the text of records: the record on a head node, and
/// JSON for users.
const std::set<std::string> kHasRecordText = {
    "provision/cluster_record.cpp", "cli/commands/job/job_plan.cpp", "cli/commands/show/views.cpp",
    "cli/commands/show/job_views.cpp"};

TEST_CASE("above the store a record has typed parts, and JSON text nowhere") {
  static const std::regex kText(R"(\bspec_json\b|"state/(codec|record_text)\.hpp")");
  const fs::path root = FASTGPU_SOURCE_ROOT;
  for (const auto& [module, allowed] : kMayInclude) {
    if (module == "state") continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder_of(module))) {
      const std::string file = fs::relative(entry.path(), root);
      if (!is_source(entry.path()) || kHasRecordText.contains(file)) continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      CHECK_MESSAGE(!std::regex_search(text, kText), file << " may not have the text of a record");
    }
  }
}

/// Where in `file` a line that has `hint` matches `pattern`, comments left out.
std::vector<std::string> places_of(const fs::path& file, const std::regex& pattern,
                                   std::string_view hint = {}) {
  std::vector<std::string> places;
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find(hint) != line.npos && std::regex_search(line.substr(0, line.find("//")), pattern))
      places.push_back(file.string() + ":" + std::to_string(number));
  }
  return places;
}

/// A kind of access to the terminal, and the files that may have it.
struct Access {
  std::string what;
  std::regex pattern;
  std::set<std::string> allowed;
};

TEST_CASE("only cli/ui writes to the terminal, and few files pass a program's bytes on") {
  const std::vector<Access> accesses = {
      {"may write to the standard streams",
       std::regex(R"(STD(OUT|ERR)_FILENO|std::(cout|cerr|clog)|write\([12],)"
                  R"(|\b(f?puts|putchar|fwrite|[vdf]*printf|perror)\s*\()"),
       {"main.cpp", "program/signals.cpp", "ui/standard_streams.cpp", "ui/terminal.cpp"}},
      {"may make an escape sequence",
       std::regex(R"(\\x1b|\\033|\\e\[|kColorEnd|\bescape\()"),
       {"ui/line_mux.cpp", "ui/terminal.cpp", "ui/terminal.hpp", "ui/styled.cpp",
        "ui/progress.cpp"}},
      {"may pass a program's bytes on unescaped",
       std::regex(R"(program_(output|errors)\()"),
       {"ui/ui.cpp", "ui/ui.hpp", "commands/node/remote_output.cpp", "commands/job/job_output.cpp",
        "commands/job/job_output.hpp", "commands/node/exec.cpp",
        "commands/shared/program_output.cpp"}},
      {"may have a sink of its own",
       std::regex(R"(\bFdSink\b)"),
       {"main.cpp", "ui/sink.cpp", "ui/sink.hpp"}},
  };
  const fs::path folder = folder_of("cli");
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path())) continue;
    const std::string name = fs::relative(entry.path(), folder).string();
    for (const Access& access : accesses)
      if (!access.allowed.contains(name))
        for (const std::string& place : places_of(entry.path(), access.pattern))
          CHECK_MESSAGE(false, place << ": only cli/ui " << access.what);
  }
}

/// The folders of cli/, each with those that it may include. Only the table of commands, in
/// program/command_table.cpp, knows the commands.
const std::map<std::string, Modules> kCliFolders = {
    {"ui", {}},
    {"workflows", {}},
    {"program", {"ui", "workflows"}},
    {"commands", {"program", "ui", "workflows"}},
};

TEST_CASE("the folders of cli include only those below them, and workflows know no terminal") {
  for (const auto& [name, allowed] : kCliFolders)
    for (const auto& entry : fs::recursive_directory_iterator(folder_of("cli") / name)) {
      if (!is_source(entry.path()) || entry.path().filename() == "command_table.cpp") continue;
      for (const std::string& path : includes_of(entry.path())) {
        if (!path.starts_with("cli/")) continue;
        const std::string used = path.substr(4, path.find('/', 4) - 4);
        CHECK_MESSAGE((used == name || allowed.contains(used)),
                      entry.path().string() << " may not include cli/" << used);
      }
    }
}

/// A source file and its header count as one part, "cli/ui/table".
std::string part_of(const fs::path& file) {
  return fs::path(file).replace_extension().string();
}

using Graph = std::map<std::string, std::set<std::string>>;

/// Returns which part of a module includes which others of it.
Graph includes_within(const std::string& module) {
  const fs::path folder = folder_of(module);
  Graph graph;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path())) continue;
    const std::string part = part_of(fs::relative(entry.path(), folder.parent_path()));
    for (const std::string& path : includes_of(entry.path())) {
      const std::string other = part_of(path);
      if (other != part && other.starts_with(module + "/")) graph[part].insert(other);
    }
  }
  return graph;
}

/// Returns the parts that are left when those that include no part that is left are taken away
/// again and again: parts of a cycle, and those that lead into one.
std::set<std::string> parts_of_cycles(const Graph& graph) {
  std::set<std::string> left;
  for (const auto& [part, others] : graph)
    left.insert(part);
  for (bool changed = true; changed;)
    changed = std::erase_if(left, [&](const std::string& part) {
                const auto& others = graph.at(part);
                return std::none_of(others.begin(), others.end(),
                                    [&](const std::string& other) { return left.contains(other); });
              }) > 0;
  return left;
}

TEST_CASE("no two parts of a module include each other, whatever is in between") {
  for (const auto& [module, allowed] : kMayInclude)
    for (const std::string& part : parts_of_cycles(includes_within(module)))
      FAIL_CHECK(part << " is part of a cycle of includes, or includes one");
}

TEST_CASE("what clouds answer is read by a type that cannot throw, and by no other") {
  const std::regex reads(R"(parse_json|\.get<|\.get_ref<|\.get_to\()");
  const fs::path providers = fs::path(FASTGPU_SOURCE_ROOT) / "provision/providers";
  for (const char* cloud : {"alibaba", "aws", "huawei", "tencent"})
    for (const auto& entry : fs::directory_iterator(providers / cloud))
      for (const std::string& place : places_of(entry.path(), reads))
        FAIL_CHECK(place << " reads JSON by itself: cloud::Document and cloud::Answer do");
}

TEST_CASE(
    "cli asks the table of providers what one can, and knows names where it makes them alone") {
  static const std::regex kName(R"re([!=]= "(local|static|aws|alibaba|huawei|tencent)")re");
  const std::set<std::string> makers = {"program/context.cpp", "workflows/cloud_factory.cpp"};
  const fs::path folder = folder_of("cli");
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (is_source(entry.path()) && !makers.contains(fs::relative(entry.path(), folder).string()))
      for (const std::string& place : places_of(entry.path(), kName, "= \""))
        FAIL_CHECK(place << " compares the name of a provider: see provision/providers.hpp");
}

TEST_CASE("JSON is parsed within limits, by base/json.hpp alone") {
  // The header of the library itself would compile all of it once more in each file.
  const std::regex parses(
      R"(([Jj]son::(parse|accept|sax_parse|from_\w+)\()|"_json\b|<nlohmann/json\.hpp>)");
  const fs::path wrapper = folder_of("base") / "json.hpp";
  for (const auto& [module, allowed] : kMayInclude)
    for (const auto& entry : fs::recursive_directory_iterator(folder_of(module))) {
      if (!is_source(entry.path()) || entry.path() == wrapper) continue;
      for (const std::string& place : places_of(entry.path(), parses, "son"))
        FAIL_CHECK(place << " takes JSON by itself: base/json.hpp, parse_json, try_parse_json do");
    }
}

TEST_CASE("a path that may not be looked at is not taken for a missing one") {
  // std::filesystem::exists does, or throws what is no Error: base/file_status.hpp is for that.
  static const std::regex kExists(R"re(\b(fs|filesystem)::exists\()re");
  for (const char* module : {"config", "http", "process", "ssh", "state", "remote", "provision",
                             "launcher", "envs", "cli"})
    for (const auto& entry : fs::recursive_directory_iterator(folder_of(module))) {
      if (!is_source(entry.path())) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);)
        if (line.find("exists(") != line.npos)
          CHECK_MESSAGE(!std::regex_search(line, kExists), entry.path().string() << ": " << line);
    }
}

TEST_SUITE_END();

}  // namespace
