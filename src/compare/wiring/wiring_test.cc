#include "compare/wiring/wiring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dump/read/summary_test.h"

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;

class WiringTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t* const op : {&make_, &scale_, &take_, &read_})
      *op = runs_.add_operator(model::Operator{.type = {}, .name = {}, .source_file = {}});
  }

  std::uint32_t execute(std::uint32_t op, std::int64_t step, const std::string& reason = {}) {
    dump::OperatorRun run;
    run.name = std::to_string(op);
    run.slots.resize(1);
    run.slots[0].side = model::Side::output;
    run.slots[0].undumped_reason = reason;
    dump::add_run(runs_, runs_.add_section({0, 0, step}), run);
    runs_.set_operator(runs_.size() - 1, op);
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  void wire(std::uint32_t reader, std::int64_t step, std::uint32_t maker) {
    runs_.add_wiring(
        reader, {.operator_name = {},
                 .step = step,
                 .wiring = {{{.index = 0, .maker = dump::CallWiring::Maker{.name = {}, .number = maker}}}}});
  }

  dump::Runs runs_;
  std::uint32_t make_ = 0, scale_ = 0, take_ = 0, read_ = 0;
};

// Names count calls: where data is drawn in the first step alone, its views have the names that views of
// other tensors have from then on. A view is listed once.
TEST_F(WiringTest, AViewMayBeOfAnotherTensorInALaterStep) {
  execute(make_, 0);
  execute(scale_, 0);
  execute(take_, 0, "view");
  execute(read_, 0);
  wire(take_, 0, make_);
  wire(read_, 0, take_);
  execute(make_, 1);
  const std::uint32_t scaled = execute(scale_, 1), read = execute(read_, 1);
  wire(take_, 1, scale_);
  const Wiring wiring(runs_);
  EXPECT_THAT(wiring.writers(read, 0).executions, ElementsAre(scaled));
}

}  // namespace
}  // namespace opdump::compare
