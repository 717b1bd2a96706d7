#include "compare/facts/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/status_file.h"
#include "dump/temp_directory_test.h"

namespace opdump::compare {
namespace {

class EnvironmentTest : public testing::Test {
 protected:
  dump::DumpSet dump(const std::string& name, dump::RunEnvironment environment) {
    dump::RecordingStatus status;
    status.state = "complete";
    status.runtime = "torch 2.0";
    status.environment = std::move(environment);
    std::filesystem::create_directories(directory_.path() / name / "rank_0");
    EXPECT_TRUE(dump::write_status(directory_.path() / name / "rank_0", status));
    auto set = dump::DumpSet::open(directory_.path() / name);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*set);
  }
  dump::TempDirectory directory_;
};

TEST_F(EnvironmentTest, NamesWhatDiffersAndNotTheCommand) {
  const auto golden = dump("golden", {{"command", "a"}, {"seed", "1"}, {"threads", "2"}});
  const auto actual =
      dump("actual", {{"command", "b"}, {"seed", "1"}, {"threads", "4"}, {"OMP_NUM_THREADS", "4"}});
  EXPECT_EQ(
      describe_environments(golden, actual),
      "environments differ: OMP_NUM_THREADS is 4 in actual only, threads is 2 in golden and 4 in actual");
  EXPECT_EQ(describe_environments(golden, golden), std::nullopt);
}

TEST_F(EnvironmentTest, SaysNothingOfRecordingsThatDoNotKnowTheirs) {
  EXPECT_EQ(describe_environments(dump("golden", {}), dump("actual", {{"seed", "1"}})), std::nullopt);
  // A seed that PyTorch draws is no choice of the program.
  EXPECT_EQ(describe_environments(dump("golden", {{"seed", "12789768394583517579"}}),
                                  dump("actual", {{"seed", "11292088921293590851"}})),
            std::nullopt);
  EXPECT_EQ(describe_environments(dump("golden", {{"seed", "12789768394583517579"}}),
                                  dump("actual", {{"seed", "3"}})),
            "environments differ: seed is 12789768394583517579 in golden and 3 in actual");
}

}  // namespace
}  // namespace opdump::compare
