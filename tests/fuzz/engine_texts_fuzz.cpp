// The reports of Slurm and Kubernetes about a job, the facts of a node for Slurm, the log of a pod,
// and a kubeconfig.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "attempt.hpp"
#include "base/json.hpp"
#include "launcher/engines/mpijob.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/engines/slurm_site.hpp"
#include "launcher/kubernetes/kubeconfig.hpp"
#include "launcher/kubernetes/log_lines.hpp"

using fastgpu::fuzz::attempt;
namespace launcher = fastgpu::launcher;

namespace {

using Line = std::tuple<int, std::int64_t, std::string>;

/// Returns the lines of a log that comes in pieces of this length; absent if it is refused.
std::optional<std::vector<Line>> lines_in_pieces(const std::string& text, std::size_t length) {
  std::vector<Line> lines;
  launcher::PodLog log(4, [&](const launcher::PodLine& line) {
    lines.emplace_back(line.rank, line.time, std::string(line.text));
  });
  bool is_whole = false;
  attempt<fastgpu::ErrorKind::remote>([&] {
    for (std::size_t at = 0; at < text.size(); at += length)
      log.take(std::string_view(text).substr(at, length));
    log.end(true);
    is_whole = true;
  });
  if (!is_whole) return std::nullopt;
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt<fastgpu::ErrorKind::remote>([&] { launcher::parse_sbatch(text); });
  attempt<fastgpu::ErrorKind::remote>(
      [&] { launcher::decide_slurm({}, launcher::parse_slurm_job(text)); });
  attempt<fastgpu::ErrorKind::remote>([&] {
    std::vector<launcher::SlurmNode> nodes(1);
    nodes.front() = {.name = {"n-0"}, .address = "10.0.0.1"};
    launcher::read_slurm_facts(text, nodes.front());
    // A line of a node and one for each GPU, whatever it reports.
    const auto lines = [](const std::string& files) { return std::ranges::count(files, '\n'); };
    const auto extra = static_cast<std::ptrdiff_t>(nodes.front().gpus.size());
    const std::string files = launcher::slurm_files(nodes);
    nodes.front() = {.name = {"n-0"}, .address = "10.0.0.1", .version = nodes.front().version};
    const auto usual = lines(launcher::slurm_files(nodes));
    if (lines(files) - usual > extra + 2) __builtin_trap();
  });
  attempt<fastgpu::ErrorKind::remote>([&] {
    const auto object = fastgpu::parse_json(text, "input");
    const auto pod = launcher::parse_launcher_pod(object);
    launcher::decide_mpijob(launcher::parse_mpijob(object), pod, {});
  });
  attempt<fastgpu::ErrorKind::usage>([&] {
    launcher::read_kubeconfig(fastgpu::config::Document::parse(text, "input"), "/nowhere", "");
  });
  launcher::failure_named_by_mpirun(text, "train-1", {.workers = 2, .slots = 2, .ranks = 4});
  launcher::parse_pod_time(text);
  if (lines_in_pieces(text, 1) != lines_in_pieces(text, size + 1)) __builtin_trap();
  return 0;
}
