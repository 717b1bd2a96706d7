#include "dump/pruned_log.h"

#include <gtest/gtest.h>

#include "dump/operator_log.h"

namespace opdump::dump {
namespace {

std::string call(const std::string& name, std::int64_t step, const std::string& value) {
  return format_log_line(LoggedForm{
      .operator_name = name,
      .step = step,
      .form = {.function = "aten::add.Tensor", .arguments = R"({"alpha":)" + value + "}", .state = ""}});
}

std::string wiring(const std::string& name, std::int64_t step) {
  return format_log_line(LoggedWiring{.operator_name = name, .step = step});
}

TEST(PruneOperatorLog, KeepsWhatHoldsInTheFirstStepAndAllThatFollows) {
  const std::string defined = format_log_line(LoggedOperator(model::Operator{
      .type = "add", .name = "Default/add-op0", .source_file = "train.py", .source_line = 3}));
  const std::string text = defined + call("Default/add-op0", 0, "1") + wiring("Default/add-op0", 0) +
                           call("Default/mul-op0", 0, "7") + call("Default/add-op0", 3, "2") +
                           call("Default/add-op0", 5, "3") + call("Default/add-op0", 6, "4");
  EXPECT_EQ(prune_operator_log(text, 5),
            defined + wiring("Default/add-op0", 0) + call("Default/mul-op0", 0, "7") +
                call("Default/add-op0", 5, "3") + call("Default/add-op0", 6, "4"));
  EXPECT_EQ(prune_operator_log(text, 4),
            defined + wiring("Default/add-op0", 0) + call("Default/mul-op0", 0, "7") +
                call("Default/add-op0", 3, "2") + call("Default/add-op0", 5, "3") +
                call("Default/add-op0", 6, "4"));
}

TEST(PruneOperatorLog, KeepsTheFirstLineOfAnOperatorAndTheOneThatApplies) {
  LoggedOperator op(model::Operator{.type = "add", .name = "Default/add-op0", .source_file = "train.py"});
  std::string lines[4];
  for (int step = 0; step < 4; ++step) {
    op.source_line = step;
    if (step > 0) op.since = step;
    lines[step] = format_log_line(op);
  }
  EXPECT_EQ(prune_operator_log(lines[0] + lines[1] + lines[2] + lines[3], 2), lines[0] + lines[2] + lines[3]);
}

TEST(PruneOperatorLog, KeepsDamagedAndTornLines) {
  const std::string text = "{\"kind\":\n" + call("Default/add-op0", 0, "1") + "{\"kind\":\"call\"";
  EXPECT_EQ(prune_operator_log(text, 9), text);
  EXPECT_EQ(prune_operator_log("", 9), "");
}

}  // namespace
}  // namespace opdump::dump
