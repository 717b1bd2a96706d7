#include "compare/facts/element_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;

const dump::CallForm kTwoLists{.function = "aten::_foreach_add_.List",
                               .arguments = R"({"self":[{"tensor":0},{"tensor":1},{"tensor":2}],)"
                                            R"("other":[{"tensor":3},{"tensor":4},{"tensor":5}],)"
                                            R"("alpha":{"tensor":6}})"};

TEST(ElementLists, TellWhichTensorsBelongTogether) {
  const auto lists = ElementLists::of("_foreach_add_", &kTwoLists);
  ASSERT_TRUE(lists);
  EXPECT_EQ(lists->size(), 3u);
  EXPECT_EQ(lists->element_of_input(1), 1u);
  EXPECT_EQ(lists->element_of_input(5), 2u);
  EXPECT_EQ(lists->element_of_input(6), std::nullopt);  // is for all
  EXPECT_EQ(lists->element_of_output(4), 1u);
}

TEST(ElementLists, AreNoListsOfOtherOperators) {
  EXPECT_FALSE(ElementLists::of("cat", &kTwoLists));
  EXPECT_FALSE(ElementLists::of("_foreach_add_", nullptr));
  EXPECT_FALSE(ElementLists::of("_foreach_add_", std::make_unique<dump::CallForm>().get()));
}

TEST(ElementLists, GetTheOrderOfGolden) {
  dump::OperatorRun run;
  run.type = "_foreach_add_";
  run.form = std::make_shared<const dump::CallForm>(kTwoLists);
  for (std::uint32_t i = 0; i < 7; ++i) {
    dump::Slot slot;
    slot.index = i;
    slot.file = std::to_string(i);
    run.slots.push_back(std::move(slot));
  }
  run.wiring = std::make_shared<const dump::CallWiring>(
      dump::CallWiring{{{.index = 0, .is_outside = true}, {.index = 2, .is_view = true}}});
  use_order_of_golden(run, {2, 0, 1});  // golden's first element is the last one of actual
  std::vector<std::string> files;
  for (const dump::Slot& slot : run.slots) files.push_back(slot.file);
  EXPECT_THAT(files, ElementsAre("2", "0", "1", "5", "3", "4", "6"));
  EXPECT_TRUE(run.wiring->find(0)->is_view);
  EXPECT_TRUE(run.wiring->find(1)->is_outside);
}

}  // namespace
}  // namespace opdump::compare
