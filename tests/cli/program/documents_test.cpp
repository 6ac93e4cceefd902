#include "cli/program/documents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/files.hpp"
#include "cli/commands/job/log_document.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/help.hpp"
#include "cli/program/schemas.hpp"
#include "cli/ui/text.hpp"
#include "support/cli_session.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using test::Session;

std::vector<const CliCommand*> visible_commands() {
  std::vector<const CliCommand*> out;
  for (const CliCommand& command : commands())
    if (!command.summary.empty()) out.push_back(&command);
  return out;
}

std::string written_text(const std::filesystem::path& file) {
  return read_file(file).value_or("");
}

TEST_SUITE_BEGIN("cli/documents");

TEST_CASE("every command says which documents it shows") {
  std::multiset<std::string> named;
  for (const DocumentsOf& one : all_documents())
    named.insert(std::string(one.command));
  for (const CliCommand* command : visible_commands()) {
    CAPTURE(command->words());
    CHECK(named.count(command->words()) == 1);
  }
  CHECK(named.size() == visible_commands().size());
}

TEST_CASE("every kind of document in the sources is one that a command names, written as all are") {
  static const std::regex kLiteral(R"re(document\("([^"]*)"\))re");
  std::set<std::string> known = {"done", "dry-run", "error"};
  for (const DocumentsOf& one : all_documents())
    known.insert(one.kinds().begin(), one.kinds().end());
  for (const std::string& kind : known) {
    CAPTURE(kind);
    CHECK(is_document_kind(kind));
  }
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FASTGPU_SOURCE_ROOT "/cli")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = written_text(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), kLiteral), end; at != end; ++at)
      CHECK_MESSAGE(known.contains((*at)[1]), entry.path().string() << ": " << (*at)[1]);
  }
  for (const char* kind : {"", "Nodes", "env_matrix", "-a", "a-", "a--b", "a/b"})
    CHECK_FALSE(is_document_kind(kind));
}

TEST_CASE("the page on output has the schemas of every command") {
  const std::string page = written_text(FASTGPU_SOURCE_ROOT "/docs/reference/output.md");
  for (const DocumentsOf& one : all_documents()) {
    std::string line = "| `" + std::string(one.command) + "` | ";
    for (const std::string_view kind : one.kinds())
      line +=
          (kind == one.kinds().front() ? "`fastgpu." : ", `fastgpu.") + std::string(kind) + "/1`";
    CHECK_MESSAGE(page.find("\n" + line) != std::string::npos, line);
  }
}

TEST_CASE("each kind of document has a schema, and each schema has its kind of document") {
  std::set<std::string> kinds = {"done", "dry-run", "error"};
  for (const DocumentsOf& one : all_documents())
    kinds.insert(one.kinds().begin(), one.kinds().end());
  std::set<std::string> described;
  for (const Schema& schema : all_schemas()) {
    CAPTURE(schema.name);
    const Json root = Json::parse(schema.text);
    CHECK(root.at("type") == "object");
    const std::string kind(document_kind(schema));
    if (kind.empty()) continue;
    CHECK(described.insert(kind).second);
    CHECK(root.at("properties").at("schema").at("const") == "fastgpu." + kind + "/1");
    CHECK(root.at("required").dump().find("\"schema\"") != std::string::npos);
    CHECK((root.contains("oneOf") || root.at("additionalProperties") == false));
    CHECK(&find_schema("fastgpu." + kind + "/1") == &schema);
    CHECK(&find_schema(std::string(schema.name)) == &schema);
  }
  CHECK(described == kinds);
  CHECK(std::ranges::is_sorted(all_schemas(), {}, &Schema::name));
  const Error unknown = failure_of([] { find_schema("quotaz"); });
  CHECK(std::string(unknown.what()) ==
        "schema: 'quotaz' is unknown, did you mean quotas? (`fastgpu schema` lists the names)");
}

TEST_CASE("no command takes -o or --output for anything but the format") {
  for (const CliCommand& command : commands()) {
    CAPTURE(command.words());
    Arguments own;
    command.describe(own);
    CHECK(own.find("-o") == nullptr);
    CHECK(own.find("--output") == nullptr);
    const Arguments all = arguments_of(command);
    const Argument* const format = all.find("-o");
    REQUIRE(format != nullptr);
    CHECK(format->name == "--output");
  }
}

TEST_CASE("what a command writes as text is a document under -o json and -o yaml") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"completion", "bash"}, {"init", "-f", "-"}}) {
    Session session;
    std::vector<std::string> line = words;
    line.insert(line.end(), {"-o", "json"});
    CHECK(session.run(line) == 0);
    const Json root = Json::parse(session.out.text);
    CHECK(root.at("schema") == "fastgpu.done/1");
    CHECK(root.at("exit_code") == 0);
    CHECK(root.at("text").get<std::string>().size() > 100);
    session.out.text.clear();
    line.back() = "yaml";
    session.run(line);
  }
}

TEST_CASE(
    "a command that shows nothing answers with a document, and one that shows does not twice") {
  const Json done = {{"schema", "fastgpu.done/1"}, {"command", "env remove"}, {"exit_code", 0}};
  StringSink out;
  StringSink err;
  Ui ui(out, err, {}, [] { return std::string(); });
  ui.complete(done);
  CHECK(out.text.empty());  // For people it is nothing.
  ui.set_format(Format::name);
  ui.complete(done);
  CHECK(out.text.empty());
  ui.set_format(Format::json);
  ui.complete(done);
  CHECK(Json::parse(out.text) == done);
  ui.complete(done);
  CHECK(Json::parse(out.text) == done);

  StringSink programs;
  Ui session(programs, err, {}, [] { return std::string(); });
  session.set_format(Format::json);
  session.give_stdout_away();
  session.complete(done);
  CHECK(programs.text.empty());
}

TEST_CASE("help fits the terminal, and every word of it stays whole") {
  for (const CliCommand* command : visible_commands())
    for (const int width : {40, 60, 80, 120}) {
      CAPTURE(command->words());
      CAPTURE(width);
      const Arguments arguments = arguments_of(*command);
      std::string text = help_for_command(*command, arguments, width);
      const std::string whole = help_for_command(*command, arguments, 0);
      text.erase(std::min(text.find("\nExample:\n"), text.size()));  // It is there to be copied.
      std::size_t longest = longest_word(variables_sentence(*command, arguments));
      std::vector<HelpGroup> groups = flag_groups(arguments);
      groups.push_back({"", argument_rows(arguments)});
      for (const HelpGroup& group : groups)
        for (const auto& [left, right] : group.rows)
          longest = std::max(
              {longest, left.size() + 2, longest_word(right.substr(0, right.find('|'))) + 6});
      const std::size_t limit = std::max(static_cast<std::size_t>(width), longest);
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        CAPTURE(line);
        CHECK(display_width(line) <= limit);
        begin = end + 1;
      }
      for (const HelpGroup& group : flag_groups(arguments))
        for (const auto& [left, right] : group.rows)
          CHECK(text.find(left) != std::string::npos);
      CHECK(whole.size() > 100);
    }
}

TEST_CASE("a file is written, and never over another one unasked") {
  const fastgpu::test::TempDirectory directory;
  const std::string path = (directory.path() / "env.lock").string();
  write_out_file({.path = path}, "first");
  CHECK(written_text(path) == "first");
  const Error e = failure_of([&] { write_out_file({.path = path}, "second"); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()).find(path) != std::string::npos);
  CHECK(std::string(e.what()).find("--force") != std::string::npos);
  CHECK(written_text(path) == "first");
  write_out_file({.path = path, .force = true}, "second");
  CHECK(written_text(path) == "second");
  for (const char* other : {"/dev/null", "/tmp"})
    CHECK(failure_of([&] { check_out_file({.path = other, .force = true}); }).kind() ==
          ErrorKind::usage);
  CHECK_THROWS_AS(write_out_file({.path = path + "/x"}, "x"), Error);
}

TEST_CASE("logs are one document, a line for each line, whatever pieces they come in") {
  using agent::OutputStream;
  Session session;
  session.ui.set_format(Format::json);
  const Error lost(ErrorKind::remote, "demo-1 is gone");
  for (const bool fails : {false, true}) {
    session.out.text.clear();
    LogDocument log(session.context, "train-1");
    log.output(0, OutputStream::out, "one\n");
    log.written_at(0, OutputStream::out, 1'772'366'400'007'000'000);
    log.output(0, OutputStream::out, "tw");
    log.output(1, OutputStream::err, "\rbar 1\rbar 2");
    log.written_at(0, OutputStream::out, 1'772'366'401'500'000'000);
    log.output(0, OutputStream::out, "o\r\n\x1b[1m\xff\n");
    log.output(agent::kLauncherRank, OutputStream::out, "mpirun\n");
    log.output(agent::kLauncherRank, OutputStream::err, "mpirun: Forwarding signal 23 to job\n");
    log.finish(fails ? &lost : nullptr);
    const Json root = Json::parse(session.out.text);
    CHECK(root.at("schema") == "fastgpu.logs/1");
    CHECK(root.at("job") == "train-1");
    const Json& lines = root.at("lines");
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == Json{{"rank", 0}, {"stream", "stdout"}, {"time", nullptr}, {"text", "one"}});
    CHECK(lines[1]["text"] == "two");
    CHECK(lines[1]["time"] == "2026-03-01T12:00:00.007Z");
    CHECK(lines[2]["time"] == "2026-03-01T12:00:01.500Z");
    CHECK(lines[2]["text"] == "\x1b[1m\xef\xbf\xbd");
    CHECK(lines[3]["rank"].is_null());
    CHECK(lines[4] ==
          Json{{"rank", 1}, {"stream", "stderr"}, {"time", nullptr}, {"text", "\rbar 1\rbar 2"}});
    CHECK(root.contains("error") == fails);
    if (fails) CHECK(root["error"]["message"] == "demo-1 is gone");
  }
  session.out.text.clear();
  LogDocument(session.context, "empty-1").finish();
  CHECK(Json::parse(session.out.text).at("lines").empty());
}

TEST_CASE("logs in YAML have the same fields") {
  Session session;
  session.ui.set_format(Format::yaml);
  LogDocument log(session.context, "train-1");
  log.output(3, agent::OutputStream::out, "a: b\n");
  log.finish();
  CHECK(session.out.text ==
        "schema: fastgpu.logs/1\njob: train-1\nlines:\n"
        "  - {\"rank\":3,\"stream\":\"stdout\",\"time\":null,\"text\":\"a: b\"}\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
