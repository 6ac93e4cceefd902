#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/contains.hpp"
#include "base/file_status.hpp"
#include "cli/commands/commands.hpp"
#include "cli/program/app.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/completion.hpp"
#include "cli/program/schemas.hpp"
#include "cli/program/tokens.hpp"
#include "envs/environments/record.hpp"
#include "envs/matrix/matrix.hpp"
#include "envs/matrix/name.hpp"
#include "launcher/array.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/providers.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct CompleteOptions {
  std::vector<std::string> words;
};

/// Returns the state directory that the line names; absent if it names none. The last word does not
/// count, because it is still being typed.
std::optional<std::string> named_state_directory(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  CommonFlags common;
  Arguments arguments;
  describe_common(arguments, common);
  const auto end = std::ranges::find(words.first(words.size() - 1), "--");
  std::optional<std::string> directory;
  for (const Token& token : tokens_of({words.begin(), end}, arguments))
    if (token.argument != nullptr && token.argument->name == "--state-dir") directory = token.value;
  return directory;
}

/// Returns the usual regions of `clouds`, or of all clouds. Sends no request to a cloud.
std::vector<std::string> regions_of(const std::vector<std::string>& clouds) {
  std::vector<std::string> out;
  for (const provision::ProviderInfo& info : provision::provider_table()) {
    const std::string name(info.name);
    if (!info.is_cloud || (!clouds.empty() && !contains(clouds, name))) continue;
    for (const std::string_view region : provision::cloud::usual_regions(name))
      out.emplace_back(region);
  }
  return out;
}

/// Adds the names that are in the store. Does not create a store.
void add_stored_names(KnownNames& known, Context& context) {
  const auto exists = [&context] { return path_exists(context.state_directory() / "state.db"); };
  known.clusters = [&context, exists] {
    std::vector<std::string> out;
    if (!exists()) return out;
    for (const state::Cluster& cluster : context.store().clusters())
      out.push_back(cluster.name.value);
    return out;
  };
  known.nodes = [&context, exists](const std::string& wanted) {
    std::vector<std::string> out;
    if (!exists()) return out;
    for (const state::Cluster& cluster : context.store().clusters())
      if (wanted.empty() || cluster.name.value == wanted)
        for (const state::Node& node : context.store().nodes(cluster.id))
          out.push_back(node.name.value);
    return out;
  };
  known.jobs = [&context, exists] {
    std::vector<std::string> out;
    if (!exists()) return out;
    for (const state::Job& job : context.store().jobs()) {
      const std::string array = launcher::array_of(job.id);
      if (!array.empty() && std::ranges::find(out, array) == out.end()) out.push_back(array);
      out.push_back(job.id);
    }
    return out;
  };
  known.environments = [&context, exists] {
    std::set<std::string> out;
    if (!exists()) return std::vector<std::string>();
    for (const state::Cluster& cluster : context.store().clusters()) {
      const auto directory = state::cluster_directory(context.state_directory(), cluster.id);
      for (const auto& [name, prefix] : envs::read_record(directory).prefix)
        out.insert(name);
    }
    return std::vector<std::string>(out.begin(), out.end());
  };
}

/// Adds the names that are built into this program.
void add_tabled_names(KnownNames& known) {
  known.providers = [] {
    std::vector<std::string> out;
    for (const provision::ProviderInfo& info : provision::provider_table())
      out.emplace_back(info.name);
    return out;
  };
  known.matrix_names = [] {
    std::vector<std::string> out;
    for (const envs::KnownSet& set : envs::builtin_matrix().sets)
      out.push_back(to_string(set.name));
    return out;
  };
  known.regions = regions_of;
  known.gpus = [] {
    std::set<std::string> out;
    for (const provision::cloud::CatalogueRow& row : provision::cloud::catalogue())
      if (row.gpus > 0) out.insert(std::string(row.gpu) + ":" + std::to_string(row.gpus));
    return std::vector<std::string>(out.begin(), out.end());
  };
  known.schemas = [] {
    std::vector<std::string> out;
    for (const Schema& schema : all_schemas())
      out.emplace_back(schema.name);
    return out;
  };
}

KnownNames names_in(Context& context) {
  KnownNames known;
  add_stored_names(known, context);
  add_tabled_names(known);
  known.groups = [&context] { return context.settings().group_names(); };
  return known;
}

/// Returns one line per candidate, with its help after a tab. Directives for the shell follow.
std::string answer(const Completion& completion) {
  std::string out;
  for (const CompletionCandidate& candidate : completion.candidates)
    out += candidate.word + (candidate.help.empty() ? "" : "\t" + candidate.help) + "\n";
  if (completion.files) out += ":files\n";
  if (completion.keep_open) out += ":nospace\n";
  return out;
}

int run(Context& context, const CompleteOptions& options) {
  try {
    const auto directory = named_state_directory(options.words);
    if (directory && !directory->empty()) context.set_state_directory(*directory);
    context.ui().data(answer(complete(commands(), options.words, names_in(context))));
  } catch (const std::exception&) {  // An error message would appear in the middle of the line that
                                     // the user types.
  }
  return 0;
}

}  // namespace

Action make_complete_command(Arguments& arguments) {
  auto options = std::make_shared<CompleteOptions>();
  arguments.program({"The words of the line", false, &options->words});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
