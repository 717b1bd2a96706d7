#include "base/text/columns.h"

#include <gtest/gtest.h>

namespace opdump {
namespace {

TEST(ColumnsTest, characters_count_not_bytes) {
  EXPECT_EQ(display_columns("größe"), 5u);
  EXPECT_EQ(display_columns("\xff\xfe"), 2u);
}

TEST(ColumnsTest, the_middle_gives_way) {
  EXPECT_EQ(shorten_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shorten_middle("abcdefghijk", 9), "ab..ghijk");
  for (std::size_t width = 0; width < 12; ++width)
    EXPECT_LE(display_columns(shorten_middle("äbcdéfghijkö", width)), width);
  EXPECT_EQ(shorten_middle("ääääääää", 7), "ä..ääää");
}

TEST(ColumnsTest, lines_break_at_spaces) {
  EXPECT_EQ(wrap_words("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrap_words("one two three", 13, 2), "one two three");
  EXPECT_EQ(wrap_words("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap_words("  stats   one two", 14, 10), "  stats   one\n          two");
  EXPECT_EQ(wrap_words("a/very/long/path and more", 8, 2), "a/very/long/path\n  and\n  more");
}

}  // namespace
}  // namespace opdump
