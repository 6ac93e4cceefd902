// fastgpu-cloudsim: the APIs of the clouds on a loopback port, for tests.
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/units.hpp"
#include "cloudsim/apis/alibaba/alibaba.hpp"
#include "cloudsim/apis/aws/aws.hpp"
#include "cloudsim/apis/huawei/huawei.hpp"
#include "cloudsim/apis/tencent/tencent.hpp"
#include "cloudsim/control.hpp"
#include "cloudsim/dispatcher.hpp"
#include "cloudsim/http/server.hpp"
#include "cloudsim/machines/local_machines.hpp"
#include "cloudsim/machines/metadata.hpp"
#include "cloudsim/scenario.hpp"

namespace fastgpu::cloudsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: fastgpu-cloudsim --port-file FILE [--port N] [--seed N] [--scenario FILE.json]\n"
    "         [--api-facts DIR] [--boot instant|delay:2s|local] [--image-script FILE.sh]\n"
    "         [--latency 50ms]\n";

struct SimulatorOptions {
  fs::path port_file;
  std::uint16_t port = 0;
  std::uint64_t seed = 1;
  fs::path scenario = CLOUDSIM_DEFAULT_SCENARIO;
  std::optional<fs::path> api_facts;
  std::string boot = "instant";
  std::string image_script;  ///< The text of the script.
  milliseconds latency{0};
};

milliseconds parse_milliseconds(const std::string& text) {
  if (text.ends_with("ms")) return milliseconds(std::stol(text.substr(0, text.size() - 2)));
  if (text.ends_with("s")) return milliseconds(std::int64_t(std::stod(text) * 1000));
  throw Error(ErrorKind::usage, "'" + text + "' is no duration such as 50ms or 2s");
}

std::string read_text(const fs::path& file) {
  if (auto text = fastgpu::read_file(file)) return *std::move(text);
  throw Error(ErrorKind::usage, file.string() + " does not exist");
}

SimulatorOptions parse(std::span<char*> words) {
  SimulatorOptions options;
  const std::map<std::string, std::function<void(const std::string&)>> known = {
      {"--port-file", [&](const std::string& value) { options.port_file = value; }},
      {"--port", [&](const std::string& value) { options.port = std::uint16_t(std::stoi(value)); }},
      {"--seed", [&](const std::string& value) { options.seed = std::stoull(value); }},
      {"--scenario", [&](const std::string& value) { options.scenario = value; }},
      {"--api-facts", [&](const std::string& value) { options.api_facts = value; }},
      {"--boot", [&](const std::string& value) { options.boot = value; }},
      {"--image-script",
       [&](const std::string& value) { options.image_script = read_text(value); }},
      {"--latency", [&](const std::string& value) { options.latency = parse_milliseconds(value); }},
  };
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto found = known.find(words[i]);
    if (found == known.end() || i + 1 == words.size()) throw Error(ErrorKind::usage, kUsage);
    found->second(words[i + 1]);
  }
  if (options.port_file.empty()) throw Error(ErrorKind::usage, kUsage);
  return options;
}

Settings settings_of(const SimulatorOptions& options) {
  Settings settings;
  if (options.boot.starts_with("delay:")) {
    settings.boot = parse_milliseconds(options.boot.substr(6));
    settings.stop = settings.boot / 2;
    settings.terminate = settings.boot / 2;
  } else if (options.boot != "instant" && options.boot != "local") {
    throw Error(ErrorKind::usage, "--boot is instant, delay:2s or local, not " + options.boot);
  }
  return settings;
}

ApiFacts facts_of(const SimulatorOptions& options, const char* file) {
  return options.api_facts ? ApiFacts(*options.api_facts / file) : ApiFacts();
}

/// Writes the file under another name first, so that a waiting process never reads half of it.
void write_port(const fs::path& file, std::uint16_t port) {
  const fs::path beside = file.string() + ".new";
  std::ofstream(beside) << port << '\n';
  fs::rename(beside, file);
}

int run(const SimulatorOptions& options) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  Simulation simulation{SimulatedWorld(options.seed, settings_of(options))};
  simulation.latency = options.latency;
  load_scenario(simulation.world, options.scenario);
  std::vector<std::unique_ptr<VendorApi>> apis;
  apis.push_back(aws_api(facts_of(options, "aws.json")));
  apis.push_back(huawei_api(facts_of(options, "huawei.json")));
  apis.push_back(tencent_api(facts_of(options, "tencent.json")));
  apis.push_back(alibaba_api(facts_of(options, "alibaba.json")));
  Dispatcher dispatcher(simulation, std::move(apis));
  std::unique_ptr<LocalMachines> machines;
  std::unique_ptr<Server> metadata_server;
  if (options.boot == "local") {
    const auto report = [&](const auto& change) {
      const std::scoped_lock lock(simulation.lock);
      change(simulation.world);
    };
    machines = std::make_unique<LocalMachines>(CLOUDSIM_NODE_INIT, options.image_script, report);
    simulation.world.machines = machines.get();
    metadata_server = std::make_unique<Server>(
        machines->gateway(), 0, [&](const std::string& peer, const Request& request) {
          const std::scoped_lock lock(simulation.lock);
          return metadata(simulation.world, peer, request);
        });
    simulation.metadata = machines->gateway() + ":" + std::to_string(metadata_server->port());
  }
  const Server server("127.0.0.1", options.port, [&](const std::string&, const Request& request) {
    return request.path.starts_with(kControlPath) ? control(simulation, request)
                                                  : dispatcher.handle(request);
  });
  write_port(options.port_file, server.port());
  int received = 0;
  sigwait(&ends, &received);
  return 0;
}

}  // namespace
}  // namespace fastgpu::cloudsim

int main(int argc, char** argv) try {
  using namespace fastgpu::cloudsim;
  return run(parse(std::span(argv + 1, std::size_t(argc - 1))));
} catch (const std::exception& e) {
  std::cerr << "fastgpu-cloudsim: " << e.what() << '\n';
  return 2;
}
