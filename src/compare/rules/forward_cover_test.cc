#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compare/compare_fixture_test.h"
#include "compare/rules/example_program_test.h"

namespace opdump::compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A network of three modules, of which each run computes the one in the middle in its own way.
class ForwardCoverTest : public CompareTest {
 protected:
  using Input = dump::CallWiring::Input;

  static Input from(const std::string& name) { return {.index = 0, .maker = {{.name = name}}}; }

  // By values, one operator of each part is the same.
  static CompareOptions by_name() {
    CompareOptions options;
    options.pair_by = PairBy::names;
    return options;
  }

  // `is_wired`: whether the recording says who reads what.
  void fill(const std::vector<std::string>& golden_part, const std::vector<std::string>& actual_part,
            bool is_wired) {
    for (const auto& [dump, part] :
         {std::pair(&*golden_, &golden_part), std::pair(&*actual_, &actual_part)}) {
      Program run(*dump);
      std::vector<std::pair<std::string, Input>> calls{
          {"Default/enter-A/exp-op0", Input{.is_outside = true}}};
      for (const std::string& name : *part) calls.emplace_back(name, from(calls.back().first));
      for (const char* name : {"Default/leave-C/tan-op0", "Default/leave-C/log-op0"})
        calls.emplace_back(name, from(calls.back().first));
      float made = 1;
      for (const auto& [name, input] : calls) {
        const bool leaves = name == part->back();
        const float result = leaves                           ? 50
                             : name.find("Default/part") == 0 ? made + static_cast<float>(part->size())
                                                              : made + 1;
        run.logged(name, {{made, 2}}, {{result, 2}});
        if (is_wired) run.wired(name, {input});
        made = result;
      }
    }
  }
};

TEST_F(ForwardCoverTest, ReadersShowAPartThatEachRunComputesInItsWay) {
  fill({"Default/part-B/sin-op0"}, {"Default/part-X/cos-op0", "Default/part-X/neg-op0"}, true);
  const Comparison& c = compare(by_name());
  EXPECT_THAT(c.incomplete, IsEmpty());
  EXPECT_EQ(c.outcome, Answer::same);
}

TEST_F(ForwardCoverTest, NobodyShowsItWhereNothingSaysWhoReads) {
  fill({"Default/part-B/sin-op0"}, {"Default/part-X/cos-op0", "Default/part-X/neg-op0"}, false);
  EXPECT_THAT(compare(by_name()).incomplete,
              ElementsAre(HasSubstr("are in modules of which the other run has a counterpart")));
}

TEST_F(ForwardCoverTest, MoreThanHalfOfTheNetworkIsNoPart) {
  fill({"Default/part-B/sin-op0", "Default/part-B/cos-op0", "Default/part-B/neg-op0",
        "Default/part-B/abs-op0"},
       {"Default/part-X/sqrt-op0", "Default/part-X/acos-op0", "Default/part-X/erf-op0",
        "Default/part-X/asin-op0"},
       true);
  EXPECT_THAT(compare(by_name()).incomplete,
              ElementsAre(HasSubstr("are in modules of which the other run has a counterpart")));
}

}  // namespace
}  // namespace opdump::compare
