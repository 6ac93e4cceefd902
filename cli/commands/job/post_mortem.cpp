#include "cli/commands/job/post_mortem.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/files.hpp"
#include "base/secret_text.hpp"
#include "base/time_text.hpp"
#include "base/unique_fd.hpp"
#include "base/utf8.hpp"
#include "cli/commands/show/job_views.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostTries = 100;

Json rank_json(const RankEvidence& rank) {
  Json out;
  out["rank"] = rank.rank;
  out["node"] = rank.node;
  out["ended"] = rank.ended != 0 ? Json(utc_text_ms(rank.ended)) : Json();
  out["began"] = rank.began != 0 ? Json(utc_text_ms(rank.began)) : Json();
  out["outcome"] = rank.has_ended ? Json(rank.outcome) : Json();
  out["exit_code"] = rank.has_ended ? Json(rank.exit_code) : Json();
  out["signal"] = rank.signal.empty() ? Json() : Json(rank.signal);
  out["ordered_to_end"] = rank.was_told;
  out["out_of_memory"] = rank.out_of_memory;
  return out;
}

std::string environment_text(const std::vector<std::string>& assignments,
                             const std::set<std::string>& secrets) {
  std::string text;
  for (const std::string& assignment : assignments) {
    const std::string name = assignment.substr(0, assignment.find('='));
    const bool is_hidden = secrets.contains(name) || sounds_secret(name);
    text += (is_hidden ? name + "=(left out)" : assignment) + "\n";
  }
  return text;
}

/// Creates a directory that did not exist: NAME, NAME.2, and so on.
std::filesystem::path new_directory(const std::filesystem::path& parent, const std::string& name) {
  for (int i = 1; i <= kMostTries; ++i) {
    const auto path = parent / (i == 1 ? name : name + "." + std::to_string(i));
    if (::mkdir(path.c_str(), 0700) == 0) return path;
    if (errno != EEXIST) throw system_error("creating " + path.string(), errno);
  }
  throw Error(ErrorKind::conflict, (parent / name).string() + " exists, and many like it");
}

void write_private(const std::filesystem::path& path, const std::string& text) {
  make_directories(path.parent_path());
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) throw system_error("creating " + path.string(), errno);
  write_all(file.get(), text, "writing " + path.string());
}

}  // namespace

std::map<std::string, std::string> bundle_of(const JobEvidence& evidence,
                                             const std::vector<std::string>& assignments,
                                             const std::set<std::string>& secrets) {
  std::map<std::string, std::string> files;
  Json job = to_json(evidence.job);
  job["cluster"] = evidence.cluster;
  job["run"] = evidence.run;
  job["ranks"] = Json::array();
  for (const RankEvidence& rank : evidence.ranks)
    job["ranks"].push_back(rank_json(rank));
  job["missing"] = evidence.missing;
  files["job.json"] = job.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  files["environment.txt"] = environment_text(assignments, secrets);
  for (const RankEvidence& rank : evidence.ranks) {
    const std::string stem = "logs/" + std::to_string(rank.rank);
    if (!rank.out.empty()) files[stem + ".out"] = rank.out;
    if (!rank.err.empty()) files[stem + ".err"] = rank.err;
  }
  if (!evidence.launcher_log.empty()) files["logs/launcher"] = evidence.launcher_log;
  for (const NodeEvidence& node : evidence.facts)
    files["nodes/" + node.node + ".txt"] = node.text;
  return files;
}

namespace {

/// Warns that the bundle was not written, and returns the same as one line.
std::string failed_bundle(Context& context, const std::string& run, const std::exception& why) {
  const std::string text =
      "no post-mortem of job " + run + ": " + escaped(why.what(), Layout::one_line);
  context.ui().warn(text);
  return text;
}

/// Writes the bundle. Returns why that failed; empty for a success.
std::string written_bundle(Context& context, const OpenJob& run, const PostMortem& request) try {
  context.ui().progress("collecting what is left of job " + run.run());
  const JobEvidence evidence = evidence_of(context, run, WithFacts::yes);
  make_directories(request.directory.path());
  const auto place = new_directory(request.directory.path(), evidence.run);
  for (const auto& [name, text] : bundle_of(evidence, request.assignments, request.secrets))
    write_private(place / name, text);
  context.ui().end_progress();
  context.ui().note("post-mortem of job " + evidence.run + ": " + place.string());
  return {};
} catch (const std::exception& e) {
  context.ui().end_progress();
  return failed_bundle(context, run.run(), e);
}

}  // namespace

void write_post_mortem(Context& context, const std::string& job_id, const PostMortem& request) {
  std::string failure;
  try {
    failure = written_bundle(context, open_job(context, job_id), request);
  } catch (const Error& e) {
    failure = failed_bundle(context, job_id, e);
  }
  launcher::note_bundle(context.store(), job_id, failure);
}

void write_post_mortem_of_run(Context& context, const OpenJob& run, const PostMortem& request) {
  const std::string failure = written_bundle(context, run, request);
  if (!failure.empty()) launcher::note_not_done(context.store(), run.job.id, failure);
}

}  // namespace fastgpu::cli
