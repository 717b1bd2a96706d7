#include "compare/pairs/frame/scope.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace opdump::compare {
namespace {

dump::OperatorRun named(std::string name, std::string type) {
  dump::OperatorRun run;
  run.name = std::move(name);
  run.type = std::move(type);
  return run;
}

TEST(Scope, IsTheNameWithoutTheOperator) {
  dump::OperatorRun run = named("Default_conv1-Conv2d_convolution-op12", "convolution");
  EXPECT_EQ(scope_of(run), "Default_conv1-Conv2d");
  EXPECT_EQ(scope_of(named("Default_network_fc_MatMul-op0", "MatMul")), "Default_network_fc");
  EXPECT_EQ(scope_of(named("op12", "x")), "");
  EXPECT_EQ(scope_of(named("plain", "x")), "");
  model::Operator op;
  op.name = "Default/a_b/c-op1";
  run.op = std::make_shared<const dump::LoggedOperator>(op);
  EXPECT_EQ(scope_of(run), "Default_a_b");
}

}  // namespace
}  // namespace opdump::compare
