#include "msaccucmp/python_text.h"

#include <gtest/gtest.h>

namespace opdump::msaccucmp {
namespace {

TEST(PythonText, QuotesAsRepr) {
  EXPECT_EQ(python_quoted(""), "''");
  EXPECT_EQ(python_quoted("it's"), "\"it's\"");
  EXPECT_EQ(python_quoted("'\""), "'\\'\"'");
  EXPECT_EQ(python_quoted("a\\b\n\t\r"), "'a\\\\b\\n\\t\\r'");
  EXPECT_EQ(python_quoted("\x01\x7f"), "'\\x01\\x7f'");
  EXPECT_EQ(python_quoted("\u00a0\u2028"), "'\\xa0\\u2028'");
  EXPECT_EQ(python_quoted("\u00e9"), "'\u00e9'");
  EXPECT_EQ(python_quoted("\xff"), "'\\udcff'");
}

TEST(PythonText, ReadsNumbersAsInt) {
  EXPECT_EQ(python_int("1_000"), "1000");
  EXPECT_EQ(python_int(" +007\n"), "7");
  EXPECT_EQ(python_int("-0"), "0");
  EXPECT_EQ(python_int("\u0663"), "3");  // Arabic
  EXPECT_EQ(python_int("123456789012345678901234567890"), "123456789012345678901234567890");
  for (const char* text : {"", " ", "-", "1__0", "_1", "1_", "1.0", "0x1", "+-1", "1 2"})
    EXPECT_EQ(python_int(text), std::nullopt) << text;
}

TEST(PythonText, KnowsNegativeNumbers) {
  for (const char* word : {"-1", "-.5", "-10.25", "-1\n"}) EXPECT_TRUE(is_negative_number(word)) << word;
  for (const char* word : {"1", "-", "-1.", "-a", "-1e5", "--1", ""})
    EXPECT_FALSE(is_negative_number(word)) << word;
}

}  // namespace
}  // namespace opdump::msaccucmp
