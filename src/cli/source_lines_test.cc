#include "cli/source_lines.h"

#include <gtest/gtest.h>

namespace opdump::cli {
namespace {

TEST(SourceLines, AreParsed) {
  const auto range = parse_source_lines("./src/train.py:170-180");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->file, "src/train.py");
  EXPECT_EQ(range->first, 170);
  EXPECT_EQ(range->last, 180);
  EXPECT_EQ(parse_source_lines("train.py:7")->last, 7);
  EXPECT_EQ(parse_source_lines("train.py")->first, 0);
  for (const char* wrong : {"", ":3", "train.py:", "train.py:0", "train.py:9-8", "train.py:x"})
    EXPECT_EQ(parse_source_lines(wrong).error().code(), Code::usage) << wrong;
}

class MadeBy : public testing::Test {
 protected:
  MadeBy() {
    node_.source = {{"model/train.py", 10, 40, 0, 0, "  def construct(self, x):"},
                    {"model/train.py", 20, 22, 4, 9, "self.conv(x,"},
                    {"lib/nn.py", 5, 5, 0, 0, "ops.conv2d(x)"}};
  }
  bool by(const char* text) const { return made_by(node_, *parse_source_lines(text)); }
  model::Node node_;
};

TEST_F(MadeBy, AnyCallThatLedToIt) {
  EXPECT_TRUE(by("train.py"));
  EXPECT_TRUE(by("model/train.py:22"));
  EXPECT_TRUE(by("nn.py:1-5"));
  EXPECT_FALSE(by("train.py:23"));
  EXPECT_FALSE(by("rain.py"));  // a file's name is whole
}

TEST_F(MadeBy, OfAFunctionOnlyItsHead) {
  EXPECT_TRUE(by("train.py:10"));
  EXPECT_FALSE(by("train.py:30"));
  EXPECT_EQ(line_in(node_, *parse_source_lines("train.py")), 20);
  EXPECT_EQ(line_in(node_, *parse_source_lines("other.py")), 0);
}

}  // namespace
}  // namespace opdump::cli
