#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "cli/ui/line_mux.hpp"
#include "cli/ui/sink.hpp"

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/line_mux");

TEST_CASE("lines come out whole whatever pieces they arrive in") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));

  mux.write(a, "one\ntw");
  mux.write(b, "uno\n");
  mux.write(a, "o\nlast");
  mux.finish_all();

  CHECK(sink.text == "a: one\nb: uno\na: two\na: last\n");
}

TEST_CASE("a line of megabytes comes out whole while other streams speak") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));
  const std::string piece(1'000'000, 'x');

  std::string line, others;
  for (int i = 0; i < 50; ++i) {
    line += piece;
    mux.write(a, piece);
    mux.write(b, "uno\ndo");
    mux.write(b, "s\n");
    others += "b: uno\nb: dos\n";
  }
  CHECK(sink.text == others);
  mux.write(a, "end\nnext\n");
  CHECK((sink.text == others + "a: " + line + "end\na: next\n"));
}

TEST_CASE("an endless line is passed on and broken only when another stream speaks") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));
  const std::string much(LineMux::kMostHeld, 'x');

  mux.write(b, "un");
  mux.write(a, much);
  mux.write(a, "yz");
  mux.write(b, "o\n");
  mux.write(a, "end\n");

  CHECK((sink.text == "a: " + much + "yz\nb: uno\na: end\n"));
}

TEST_CASE(
    "colours that are left on end with their line, and go on in the next one of their stream") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));

  mux.write(a, "\x1b[1m\x1b[31mred\n");
  mux.write(b, "plain\n");
  mux.write(a, "still\x1b[0m not\nnone\n");
  mux.write(b, "\x1b[32mgreen\x1b[0m\n\x1b[2K\x1b[m\n");

  CHECK(sink.text ==
        "a: \x1b[1m\x1b[31mred\x1b[0m\nb: plain\na: \x1b[1m\x1b[31mstill\x1b[0m not\na: none\n"
        "b: \x1b[32mgreen\x1b[0m\nb: \x1b[2K\x1b[m\n");
}

TEST_CASE("colours that are on when a stream is finished are not those of its next line") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));

  mux.write(a, "\x1b[31mred\n");
  mux.finish(a);
  mux.write(a, "plain\nto the \x1b[32mend");
  mux.finish(a);
  mux.write(a, "plain\n");

  CHECK(sink.text == "a: \x1b[31mred\x1b[0m\na: plain\na: to the \x1b[32mend\x1b[0m\na: plain\n");
}

TEST_CASE("a new prefix is that of the lines that begin after it") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor);
  const auto a = mux.add(Styled("a: "));

  mux.write(a, "one\ntw");
  mux.set_prefix(a, Styled("A: "));
  mux.write(a, "o\nthree\n");
  mux.set_prefix(a, Styled("x: "));
  mux.write(a, "four\n");

  CHECK(sink.text == "a: one\na: two\nA: three\nx: four\n");
}

std::chrono::seconds g_now{100};

LineMux::Clock::time_point test_now() {
  return LineMux::Clock::time_point(g_now);
}

TEST_CASE("a progress bar is shown as it comes, with its prefix after each return") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));

  mux.write(a, "\rstep 0");
  CHECK(sink.text == "a: step 0");
  mux.write(a, "\rstep 1");
  CHECK(sink.text == "a: step 0\ra: step 1");
  mux.write(a, "\rst");
  mux.write(a, "ep 2\ndone\n");
  CHECK(sink.text == "a: step 0\ra: step 1\ra: step 2\na: done\n");

  sink.text.clear();
  mux.write(a, "10%\r");
  mux.write(a, "20%\r");
  mux.finish(a);
  CHECK(sink.text == "a: 10%\ra: 20%\r\n");
}

TEST_CASE("lines that end as on Windows stay one line each") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));
  mux.write(a, "one\r\ntwo\r");
  mux.write(a, "\nthree\r\n");
  CHECK(sink.text == "a: one\r\na: two\r\na: three\r\n");
}

TEST_CASE("bars of several streams keep their prefixes and break each other once a second") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux mux(sink, cursor, test_now);
  const auto a = mux.add(Styled("a: "));
  const auto b = mux.add(Styled("b: "));

  mux.write(a, "\rA1");
  mux.write(b, "\rB1");  // Its first: at once.
  mux.write(a, "\rA2");
  mux.write(a, "\rA3");
  mux.write(b, "\rB2");
  CHECK(sink.text == "a: A1\nb: B1\rb: B2");
  g_now += std::chrono::seconds(1);
  mux.write(a, "\rA4");
  CHECK(sink.text == "a: A1\nb: B1\rb: B2\na: A2\ra: A3\ra: A4");
  mux.write(b, "\rB3\n");
  CHECK(sink.text.ends_with("\ra: A4\nb: B3\n"));
  mux.finish_all();
  CHECK(sink.text.ends_with("\nb: B3\n"));
}

TEST_CASE("a line on stdout does not continue a bar on stderr of the same terminal") {
  StringSink sink;
  LineMux::Cursor cursor;
  LineMux out(sink, cursor, test_now);
  LineMux err(sink, cursor, test_now);
  const auto o = out.add(Styled("0: "));
  const auto e = err.add(Styled("0: "));

  err.write(e, "\r50%");
  out.write(o, "epoch 1\n");
  err.write(e, "\r60%");
  err.finish_all();

  CHECK(sink.text == "0: 50%\n0: epoch 1\n0: 60%\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
