#include "cli/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace opdump::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr OperatorName kNames[] = {
    {"Default/conv1-Conv2d/convolution-op0", "Default_conv1-Conv2d_convolution-op0"},
    {"Default/conv2-Conv2d/convolution-op0", "Default_conv2-Conv2d_convolution-op0"},
    {"Default/conv2-Conv2d/convolution-op01", "Default_conv2-Conv2d_convolution-op01"},
    {"Default_ReLU-op3", "Default_ReLU-op3", false},
};

TEST(SelectNames, TheClosestMatchCounts) {
  const std::string name = "Default/conv2-Conv2d/convolution-op0";
  EXPECT_THAT(*select_names(kNames, name), ElementsAre(1));  // although it is a part of another name
  EXPECT_THAT(*select_names(kNames, "Default_conv2-Conv2d_convolution-op0"), ElementsAre(1));
  EXPECT_THAT(*select_names(kNames, "convolution-op0"), ElementsAre(0, 1));
  EXPECT_THAT(*select_names(kNames, "ReLU-op3"), ElementsAre(3));
  EXPECT_THAT(*select_names(kNames, "conv2"), ElementsAre(1, 2));
  EXPECT_THAT(*select_names(kNames, "relu"), ElementsAre(3));
}

TEST(SelectNames, AMisspellingIsAnswered) {
  const auto none = select_names(kNames, "conv3");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::not_found);
  EXPECT_THAT(none.error().message(), HasSubstr("no operator matches 'conv3'; nearest: "));
}

TEST(Selects, AModuleOfTheNameOrOfTheLog) {
  dump::LoggedOperator named, logged;
  named.name = "Default/layer1-Net/conv-Conv2d/convolution-op0";
  logged.name = "node_Conv_1";
  logged.module = "layer1.0.conv";
  dump::OperatorRun run;
  const auto is_in = [&](const dump::LoggedOperator& op, const std::string& module) {
    run.op = std::make_shared<dump::LoggedOperator>(op);
    RunFilter filter;
    filter.module = module;
    return selects(filter, run);
  };
  EXPECT_TRUE(is_in(named, "Default/layer1-Net"));
  EXPECT_TRUE(is_in(named, "Default/layer1-Net/conv-Conv2d"));
  EXPECT_FALSE(is_in(named, "Default/layer1"));
  EXPECT_TRUE(is_in(logged, "layer1/0"));
  EXPECT_TRUE(is_in(logged, "layer1/0/conv"));
  EXPECT_FALSE(is_in(logged, "layer1/0/c"));
}

TEST(Filter, IsDescribedAsItIsWritten) {
  EXPECT_EQ(describe_filter({}), "");
  RunFilter filter;
  filter.step = 0;
  filter.phase = "forward";
  EXPECT_EQ(describe_filter(filter), "--step 0 --phase forward");
}

}  // namespace
}  // namespace opdump::cli
