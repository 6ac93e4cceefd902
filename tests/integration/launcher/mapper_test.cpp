// The places of ranks beside those that Open MPI's own mapper finds for the same machines. It reads
// a machine from a file of hwloc, and prints where it would bind each rank, without starting one.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "launcher/binding.hpp"
#include "launcher/engines/mpirun.hpp"
#include "process/capture.hpp"
#include "support/temp_directory.hpp"
#include "support/topologies.hpp"

namespace fastgpu::launcher {
namespace {

using test::Shape;

/// Returns a set of bits as hwloc writes it: "0x00000001,0xffffffff".
std::string bits_text(const std::vector<int>& numbers) {
  std::vector<std::uint32_t> words(1);
  for (const int number : numbers) {
    const auto word = static_cast<std::size_t>(number) / 32;
    if (words.size() <= word) words.resize(word + 1);
    words[word] |= 1U << (static_cast<unsigned>(number) % 32U);
  }
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    std::array<char, 16> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%08x", words[i]);
    text += (text.empty() ? "" : ",") + std::string(hex.data());
  }
  return text;
}

/// Writes a machine as a file of hwloc 2.
class MachineFile {
 public:
  explicit MachineFile(const Shape& shape) : shape_(shape) {
    text_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n";
    open("Machine", 0, all_cores(),
         " allowed_cpuset=\"" + bits_text(cpus_of(all_cores())) + "\" allowed_nodeset=\"" +
             nodes_of(all_cores()) + "\"");
    for (int socket = 0; socket < shape.sockets; ++socket) {
      open("Package", socket, cores_from(socket * per_socket(), per_socket()));
      for (int i = 0; i < shape.numas; ++i)
        add_numa(socket * shape.numas + i);
      close();
    }
    close();
    text_ += "</topology>\n";
  }

  const std::string& text() const { return text_; }

 private:
  using Cores = std::vector<int>;

  int per_socket() const { return shape_.numas * shape_.cores; }
  Cores cores_from(int first, int count) const {
    Cores cores;
    for (int i = 0; i < count; ++i)
      cores.push_back(first + i);
    return cores;
  }
  Cores all_cores() const { return cores_from(0, shape_.sockets * per_socket()); }
  std::vector<int> cpus_of(const Cores& cores) const {
    std::vector<int> cpus;
    for (const int core : cores)
      for (int thread = 0; thread < shape_.threads; ++thread)
        cpus.push_back(thread * shape_.sockets * per_socket() + core);
    return cpus;
  }
  std::string nodes_of(const Cores& cores) const {
    std::vector<int> nodes;
    for (const int core : cores)
      nodes.push_back(core / shape_.cores);
    return bits_text(nodes);
  }

  void open(const std::string& type, int number, const Cores& cores, const std::string& more = "") {
    object(type, number, bits_text(cpus_of(cores)), nodes_of(cores), more + ">\n");
  }
  void close() { text_ += "</object>\n"; }

  void object(const std::string& type, int number, const std::string& cpus,
              const std::string& nodes, const std::string& rest) {
    const bool is_numbered = type != "L3Cache";
    text_ += "<object type=\"" + type + "\"" +
             (is_numbered ? " os_index=\"" + std::to_string(number) + "\"" : "") + " cpuset=\"" +
             cpus + "\" complete_cpuset=\"" + cpus + "\" nodeset=\"" + nodes +
             "\" complete_nodeset=\"" + nodes + "\" gp_index=\"" + std::to_string(++objects_) +
             "\"" + rest;
  }

  void add_numa(int numa) {
    const Cores cores = cores_from(numa * shape_.cores, shape_.cores);
    open("L3Cache", numa, cores,
         " cache_size=\"33554432\" depth=\"3\" cache_linesize=\"64\" cache_associativity=\"16\" "
         "cache_type=\"0\"");
    object("NUMANode", numa, bits_text(cpus_of(cores)), bits_text({numa}),
           " local_memory=\"68719476736\"/>\n");
    for (const int core : cores) {
      open("Core", core, {core});
      for (const int cpu : cpus_of({core}))
        object("PU", cpu, bits_text({cpu}), nodes_of({core}), "/>\n");
      close();
    }
    close();
  }

  Shape shape_;
  std::string text_;
  int objects_ = 0;
};

/// Returns the CPUs in "[BB/../..][../../..]": a bracket for each socket, a word for each core, a
/// letter for each thread.
std::string cpus_in(const std::string& mask, const Shape& shape) {
  const int cores = shape.sockets * shape.numas * shape.cores;
  std::vector<int> cpus;
  int core = 0, thread = 0;
  for (const char c : mask) {
    if (c == '[') thread = 0;
    if (c == 'B') cpus.push_back(thread * cores + core);
    if (c == 'B' || c == '.') ++thread;
    if (c == '/' || c == ']') {
      ++core;
      thread = 0;
    }
  }
  std::ranges::sort(cpus);
  return agent::cpu_list(cpus);
}

/// Returns the CPUs of each rank as Open MPI would bind it: `each` ranks for each object of a kind
/// ("socket", "numa"), with so many cores. `padding` is a variable of its environment. Empty if it
/// prints nothing.
std::string map_by_mpirun(const Shape& shape, int ranks, int each, const std::string& kind,
                          int cores, const std::string& padding) {
  const test::TempDirectory folder;
  const auto file = folder.path() / "machine.xml";
  std::ofstream(file) << MachineFile(shape).text();
  const std::string by =
      "ppr:" + std::to_string(each) + ":" + kind + ":pe=" + std::to_string(cores);
  const Cancel never;
  const auto done = process::capture({.argv = {"env",
                                               "PADDING=" + padding,
                                               "mpirun",
                                               "--allow-run-as-root",
                                               "--mca",
                                               "ras",
                                               "simulator",
                                               "--mca",
                                               "ras_simulator_num_nodes",
                                               "1",
                                               "--mca",
                                               "ras_simulator_slots",
                                               std::to_string(ranks),
                                               "--mca",
                                               "ras_simulator_topo_files",
                                               file.string(),
                                               "-np",
                                               std::to_string(ranks),
                                               "--map-by",
                                               by,
                                               "--bind-to",
                                               "core",
                                               "--display-map",
                                               "--do-not-launch",
                                               "true"}},
                                     {.timeout = std::chrono::seconds(60)}, never);
  std::string cpus;
  const std::string text = done.out + done.err;
  for (std::size_t at = 0; (at = text.find("Bound: ", at)) != text.npos; ++at) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    cpus += cpus_in(line.substr(line.rfind(":[") + 1), shape) + " ";
  }
  return cpus;
}

/// Returns the same. Open MPI 4.1 prints the CPUs of a machine read from a file by a pointer that
/// it never set, and crashes with some layouts of its memory: another size of the environment gives
/// another layout.
std::string mapped_by_mpirun(const Shape& shape, int ranks, int each, const std::string& kind,
                             int cores) {
  std::string cpus;
  for (std::size_t i = 0; i < 12 && cpus.empty(); ++i)
    cpus = map_by_mpirun(shape, ranks, each, kind, cores, std::string(i * 37, 'x'));
  return cpus;
}

std::string places_text(const agent::MachineTopology& topology, RankUnit unit) {
  std::string text;
  for (const RankPart& place : rank_places(topology, unit))
    text += agent::cpu_list(place.cpus) + " ";
  return text;
}

bool is_version_4() {
  const Cancel never;
  const auto done = process::capture({.argv = {"mpirun", "--version"}}, {}, never);
  return parse_open_mpi(done.out.substr(0, done.out.find('\n'))) == OpenMpi::v4;
}

TEST_SUITE_BEGIN("integration/mapper");

TEST_CASE("Open MPI's mapper gives each rank the same CPUs on machines like those of clouds") {
  if (!is_version_4()) return;  // Its options are those of version 4.
  constexpr std::array kShapes = {
      Shape{.sockets = 1, .numas = 1, .cores = 4, .threads = 1},
      Shape{.sockets = 1, .numas = 1, .cores = 4, .threads = 2},
      Shape{.sockets = 2, .numas = 1, .cores = 24, .threads = 2},  // Like a p4d.24xlarge.
      Shape{.sockets = 2, .numas = 2, .cores = 12, .threads = 2},
      Shape{.sockets = 2, .numas = 4, .cores = 16, .threads = 1},  // Like two EPYC in NPS4.
      Shape{.sockets = 4, .numas = 1, .cores = 6, .threads = 1},
  };
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.sockets);
    CAPTURE(shape.numas);
    CAPTURE(shape.cores);
    CAPTURE(shape.threads);
    const auto topology = test::machine(shape);
    const int per_socket = shape.numas * shape.cores, numas = shape.sockets * shape.numas;
    if (shape.sockets > 1)  // A single rank is not simulated: it is mapped to this machine.
      CHECK(places_text(topology, RankUnit::socket) ==
            mapped_by_mpirun(shape, shape.sockets, 1, "socket", per_socket));
    if (numas > 1)
      CHECK(places_text(topology, RankUnit::numa) ==
            mapped_by_mpirun(shape, numas, 1, "numa", shape.cores));
    CHECK(places_text(topology, RankUnit::core) ==
          mapped_by_mpirun(shape, shape.sockets * per_socket, per_socket, "socket", 1));
  }
}

TEST_CASE("Open MPI's mapper shares a socket among ranks as it is shared among its GPUs") {
  if (!is_version_4()) return;
  constexpr Shape kShape{.sockets = 2, .numas = 1, .cores = 24, .threads = 2};
  agent::MachineTopology topology = test::machine(kShape);
  for (int i = 0; i < 8; ++i)
    topology.gpus.push_back({.name = "gpu" + std::to_string(i), .numa = i / 4});
  CHECK(places_text(topology, RankUnit::gpu) == mapped_by_mpirun(kShape, 8, 4, "socket", 6));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
