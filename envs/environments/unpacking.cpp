#include "envs/environments/unpacking.hpp"

#include <memory>

#include "envs/environments/archive_stream.hpp"
#include "transfer/pace.hpp"

namespace fastgpu::envs {
namespace {

/// Opens the stream, with the same speed limit as builds between nodes.
NextPiece open_stream(const InstallTargets& nodes) {
  const auto stream = std::make_shared<ArchiveStream>(*nodes.request.archive, nodes.request.scratch,
                                                      nodes.access.cancel);
  const auto pace = std::make_shared<transfer::Pace>(nodes.request.rate);
  return [stream, pace, &cancel = nodes.access.cancel] {
    auto piece = stream->next();
    if (piece) pace->pass(piece->size(), cancel);
    return piece;
  };
}

}  // namespace

void unpack_on_source(const InstallTargets& nodes) {
  const EnvironmentArchive& archive = *nodes.request.archive;
  const NodeName& node = nodes.source().name;
  if (const std::string why = misfit(archive.lock, nodes.source_status()); !why.empty())
    throw Error(ErrorKind::conflict, node.value + ": " + why);
  if (const std::string why = shortage({.all = archive.size}, nodes.source_status()); !why.empty())
    throw Error(ErrorKind::capacity, node.value + ": " + why);
  nodes.tell(node, "unpacking " + archive.file.string());
  nodes.on_source({.words = {"relay", "--to", nodes.directory().string(), "--build"},
                   .open_input = [&nodes] { return open_stream(nodes); }});
}

}  // namespace fastgpu::envs
