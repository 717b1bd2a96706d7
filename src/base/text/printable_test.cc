#include "base/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/utf8.h"

namespace opdump {
namespace {

std::string shown(std::string_view text, Escapes escapes = Escapes::text) {
  std::string out;
  append_printable(out, text, escapes);
  return out;
}

TEST(Printable, KeepsWhatOnlyShows) {
  for (const char* const text :
       {"", "plain", "a\tb\n", "Größe", "権重 μ 😀", "\u00a0\u00ad", "\u200b", "\u2027\u202f", "\u2065\u206a"})
    EXPECT_EQ(shown(text), text);
}

TEST(Printable, EscapesWhatSteers) {
  EXPECT_EQ(shown(std::string("\0\r\x1b[2J\x7f", 7)), R"(\x00\x0d\x1b[2J\x7f)");
  EXPECT_EQ(shown("\u0080\u0085\u009b\u009f|"), R"(\u0080\u0085\u009b\u009f|)");
  EXPECT_EQ(shown("\u061c\u200e\u200f"), R"(\u061c\u200e\u200f)");
  EXPECT_EQ(shown("\u2028\u2029\u202a\u202e\u2066\u2069"), R"(\u2028\u2029\u202a\u202e\u2066\u2069)");
}

TEST(Printable, EscapesBytesThatAreNoText) {
  EXPECT_EQ(shown("\x9b"
                  "31m"),
            R"(\x9b31m)");
  EXPECT_EQ(shown("\xc2"), R"(\xc2)");                  // cut short
  EXPECT_EQ(shown("\xc1\x9b"), R"(\xc1\x9b)");          // longer than it must be
  EXPECT_EQ(shown("\xed\xa0\x80"), R"(\xed\xa0\x80)");  // half of a character of UTF-16
  EXPECT_EQ(shown("\xf8\x88\x80\x80\x80"), R"(\xf8\x88\x80\x80\x80)");
  EXPECT_EQ(shown("\xe2\x80\xe2\x80\xae"), R"(\xe2\x80\u202e)");
}

TEST(Printable, StaysJson) {
  EXPECT_EQ(shown("{\"a\":\"\x7f\u202e\u009b\xff\"}\n", Escapes::json), R"({"a":"\u007f\u202e\u009b\ufffd"})"
                                                                        "\n");
}

TEST(Printable, KeepsWhatMaySteer) {
  constexpr std::string_view kRed = "\033[31m";
  std::string out;
  append_printable(out, "a\033[31mb\033[32mc", Escapes::text, {&kRed, 1});
  EXPECT_EQ(out, "a\033[31mb\\x1b[32mc");
}

}  // namespace
}  // namespace opdump
