#include "dump/write/folder/recording_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordingFolderTest : public testing::Test {
 protected:
  static RecordingStatus begin(std::string run_id, std::string process = {}) {
    RecordingStatus status;
    status.run_id = std::move(run_id);
    status.process = std::move(process);
    status.started_us = 1733905446819790;
    return status;
  }

  Result<RecordingFolder> claim(RecordingStatus& status, Existing existing = Existing::refuse,
                                bool by_time = false) {
    return RecordingFolder::claim({.root = root_, .by_time = by_time, .existing = existing}, status);
  }

  // A whole recording.
  RecordingStatus record(const std::string& run_id, Existing existing, std::string state,
                         std::int64_t first_step, std::int64_t last_step) {
    RecordingStatus status = begin(run_id);
    auto folder = claim(status, existing);
    EXPECT_TRUE(folder) << folder.error().message();
    status.state = std::move(state);
    status.first_step = first_step;
    status.last_step = last_step;
    EXPECT_TRUE(folder->write(status));
    return status;
  }

  void write(const fs::path& name, std::string_view text = "x") {
    ASSERT_TRUE(make_directories((root_ / name).parent_path(), 0700));
    ASSERT_TRUE(write_file_atomic(root_ / name, text, 0600));
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      names.push_back(entry.path().lexically_relative(root_));
    std::ranges::sort(names);
    return names;
  }

  const std::string a_ = std::string(16, 'a'), b_ = std::string(16, 'b');
  TempDirectory directory_;
  fs::path root_ = directory_.path() / "dump";
};

TEST_F(RecordingFolderTest, RunIdsAreOfTheirOwn) {
  const std::string id = make_run_id();
  EXPECT_TRUE(is_run_id(id));
  EXPECT_NE(id, make_run_id());
  for (const char* text : {"", "0123", "0123456789abcdeF", "0123456789abcdef0"})
    EXPECT_FALSE(is_run_id(text)) << text;
}

TEST_F(RecordingFolderTest, ProcessesOfARunHaveTheirOwnStatusFilesAndOneTime) {
  RecordingStatus main = begin(a_), worker = begin(a_, "worker0"), other = begin(a_, "worker0");
  worker.started_us = other.started_us = main.started_us + 5'000'000;
  auto folder = claim(main, Existing::refuse, true);
  ASSERT_TRUE(folder) << folder.error().message();
  auto first = claim(worker, Existing::refuse, true), second = claim(other, Existing::refuse, true);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(worker.time_directory, main.time_directory);
  EXPECT_EQ(other.time_directory, main.time_directory);
  EXPECT_THAT(files(),
              ElementsAre("rank_0", "rank_0/opdump_status.json", "rank_0/opdump_status.worker0-2.json",
                          "rank_0/opdump_status.worker0.json"));
  for (auto [status, at] : {std::pair(&main, &*folder), std::pair(&worker, &*first)}) {
    status->state = "complete";
    ASSERT_TRUE(at->write(*status));
  }
  const auto whole = read_status(root_ / "rank_0");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->state, "incomplete");  // the second worker's never ended
  ASSERT_EQ(whole->losses.size(), 1u);
  EXPECT_EQ(whole->losses[0].first, "opdump_status.worker0-2.json");
}

// As programs of CANN that share a dump_path do: each has a time of its own, whatever the clock says.
TEST_F(RecordingFolderTest, RunsWithTimesMayRecordAtOnce) {
  RecordingStatus first = begin(a_), second = begin(b_), third = begin(std::string(16, 'c'));
  auto one = claim(first, Existing::append, true), two = claim(second, Existing::append, true);
  ASSERT_TRUE(one);
  ASSERT_TRUE(two) << two.error().message();
  EXPECT_NE(first.time_directory, second.time_directory);
  EXPECT_THAT(files(),
              ElementsAre("rank_0", "rank_0/opdump_status.json", "rank_0/opdump_status.main-2.json"));
  const auto refused = claim(third, Existing::refuse, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("another program is recording there"));
}

TEST_F(RecordingFolderTest, WhatRecordedNothingCanLeaveNothing) {
  RecordingStatus status = begin(a_);
  auto folder = claim(status);
  ASSERT_TRUE(folder && folder->write(status));
  write("rank_0/operators.jsonl", "");
  folder->remove_trace();
  EXPECT_THAT(files(), IsEmpty());
  record(a_, Existing::refuse, "complete", 0, 2);
  RecordingStatus later = begin(b_);
  auto added = claim(later, Existing::append);
  ASSERT_TRUE(added && added->write(later));
  added->remove_trace();  // of a dump that was there before
  EXPECT_THAT(files(), ElementsAre("rank_0", "rank_0/opdump_status.json"));
}

TEST_F(RecordingFolderTest, ADumpIsNotRecordedOverUnlessAskedFor) {
  record(a_, Existing::refuse, "complete", 0, 2);
  RecordingStatus status = begin(b_);
  const auto refused = claim(status);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(is_refusal(refused.error()));
  EXPECT_THAT(refused.error().message(), HasSubstr("rank_0: has a dump already: replace it (--force"));
  EXPECT_EQ(read_status(root_ / "rank_0")->run_id, a_);
  EXPECT_EQ(record(a_, Existing::refuse, "complete", 0, 2).run_id, a_);  // another process of the run
}

TEST_F(RecordingFolderTest, ReplacingRemovesWhatIsADumpsAndNothingElse) {
  record(a_, Existing::refuse, "complete", 0, 0);
  const std::string npy = "Add.Default_Add-op0.0.0.1733905446819790.output.0.DefaultFormat.float32.npy";
  for (const char* name :
       {"rank_0/operators.jsonl", "rank_0/net/0/0/statistic.csv", "rank_0/net/0/0/mapping.csv",
        "rank_0/net/0/0/12345.npy", "rank_0/net/0/0/Add.Default_Add-op0.json",
        "rank_0/.dump_metadata/config.json", "rank_0/graphs/ms_output_trace_code_graph_0.ir",
        "20241211082406/0/net/0/0/Add.Default_Add-op0.1.0.17", "3/20241211082406/0/net/0/3/statistic.csv",
        "acl_dump_0.json", "extra-info/data-dump/0/exception_info.1.0.17"})
    write(name);
  write("rank_0/net/0/0/" + npy);
  fs::create_directory(directory_.path() / "elsewhere");
  ASSERT_TRUE(write_file_atomic(directory_.path() / "elsewhere" / npy, "kept", 0600));
  const std::vector<std::string> foreign{"notes.txt",
                                         "rank_0/net/0/0/notes.txt",
                                         "rank_0/net/model.npy",
                                         "rank_0/notes/mine.txt",
                                         "rank_1/operators.jsonl",
                                         "20241211082406/1/net/0/0/Add.Default_Add-op0.1.0.17",
                                         "src/0/1/statistic.csv"};
  for (const std::string& name : foreign) write(name);
  fs::create_symlink(directory_.path() / "elsewhere", root_ / "rank_0/net/0/1");
  fs::create_symlink(directory_.path() / "elsewhere" / npy, root_ / "rank_0/net/0/0" / ("B" + npy));
  RecordingStatus status = begin(b_);
  const auto folder = claim(status, Existing::replace);
  ASSERT_TRUE(folder) << folder.error().message();
  std::vector<std::string> left;
  for (const std::string& name : files())
    if (!fs::is_directory(fs::symlink_status(root_ / name))) left.push_back(name);
  std::vector<std::string> expected = foreign;
  expected.push_back("rank_0/net/0/1");
  expected.push_back("rank_0/net/0/0/B" + npy);
  expected.push_back("rank_0/opdump_status.json");
  std::ranges::sort(expected);
  EXPECT_EQ(left, expected);
  EXPECT_TRUE(fs::exists(directory_.path() / "elsewhere" / npy));
  EXPECT_FALSE(fs::exists(root_ / "3"));
}

TEST_F(RecordingFolderTest, WhatIsToBeReplacedComesBackUnlessARecordingBegins) {
  record(a_, Existing::refuse, "complete", 0, 2);
  for (const char* name : {"rank_0/net/0/0/statistic.csv", "rank_0/notes.txt", "rank_1/operators.jsonl"})
    write(name, name);
  const FolderPart whole{root_, {}, {}};
  const std::vector<std::string> before = files();
  const auto bytes = begin_to_replace(whole);
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_GT(*bytes, 0u);
  EXPECT_TRUE(has_dump_aside(whole));
  EXPECT_EQ(find_dump(whole, {}), std::nullopt);
  EXPECT_TRUE(fs::exists(root_ / "rank_0/notes.txt"));
  ASSERT_TRUE(put_dump_back(whole));
  EXPECT_EQ(files(), before);
  const auto text = read_file(root_ / "rank_1/operators.jsonl", 100);
  EXPECT_TRUE(text && *text == "rank_1/operators.jsonl");
  ASSERT_TRUE(begin_to_replace(whole));
  RecordingStatus status = begin(b_);
  ASSERT_TRUE(claim(status, Existing::replace));
  EXPECT_FALSE(has_dump_aside(whole));
  EXPECT_THAT(files(), ElementsAre("rank_0", "rank_0/notes.txt"));
}

TEST_F(RecordingFolderTest, WhatIsAddedToAKilledRecordingIsNotComplete) {
  record(a_, Existing::refuse, "recording", 0, 4);
  record(b_, Existing::append, "complete", 5, 9);
  const auto status = read_status(root_ / "rank_0");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->run_id, b_);
  EXPECT_EQ(status->state, "incomplete");
  ASSERT_EQ(status->losses.size(), 1u);
  EXPECT_EQ(status->losses[0].first, "run " + a_);
}

TEST_F(RecordingFolderTest, StepsOfTwoRecordingsAreNotMixedInSilence) {
  record(a_, Existing::refuse, "complete", 0, 4);
  record(b_, Existing::append, "complete", 5, 9);
  EXPECT_EQ(read_status(root_ / "rank_0")->state, "complete");
  record(std::string(16, 'c'), Existing::append, "complete", 9, 12);
  const auto status = read_status(root_ / "rank_0");
  EXPECT_EQ(status->state, "incomplete");
  ASSERT_EQ(status->losses.size(), 1u);
  EXPECT_EQ(status->losses[0].first, "step 9");
}

TEST_F(RecordingFolderTest, AnotherRunWaitsItsTurnUntilTheFirstIsOverOrKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    RecordingStatus status = begin(a_);
    auto folder = claim(status);
    if (folder) (void)folder->write(status);
    if (::write(ends[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  for (const Existing existing : {Existing::refuse, Existing::append, Existing::replace}) {
    RecordingStatus status = begin(b_);
    const auto refused = claim(status, existing);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("another program is recording there"));
  }
  EXPECT_FALSE(begin_to_replace({root_, {}, {}}));
  RecordingStatus joined = begin(a_, "worker0");
  EXPECT_TRUE(claim(joined));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  RecordingStatus status = begin(b_);
  const auto folder = claim(status, Existing::append);
  ASSERT_TRUE(folder) << folder.error().message();
  ASSERT_EQ(status.earlier.size(), 1u);
  EXPECT_EQ(status.earlier[0].state, "recording");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(RecordingFolderTest, WhatNeverBeganLeavesNoStatus) {
  {
    RecordingStatus status = begin(a_);
    ASSERT_TRUE(claim(status));
  }
  EXPECT_THAT(files(), ElementsAre("rank_0"));
  EXPECT_EQ(find_dump({root_, {}, {}}, {}), std::nullopt);
}

TEST_F(RecordingFolderTest, TimesAreNotSharedByTwoRuns) {
  RecordingStatus first = begin(a_), second = begin(b_);
  {
    auto folder = claim(first, Existing::refuse, true);
    ASSERT_TRUE(folder->write(first));
  }
  ASSERT_TRUE(claim(second, Existing::append, true));
  EXPECT_NE(first.time_directory, second.time_directory);
  EXPECT_THAT(second.earlier, IsEmpty());  // its files lie elsewhere
}

TEST_F(RecordingFolderTest, ProgramsOfARunThatRecordTheSameStepsAreNotOne) {
  record(a_, Existing::refuse, "complete", 0, 4);
  EXPECT_EQ(read_status(root_ / "rank_0")->state, "complete");
  RecordingStatus other = begin(a_);
  other.pid = 7;
  {
    auto folder = claim(other);
    ASSERT_TRUE(folder);
    other.state = "complete";
    ASSERT_TRUE(folder->write(other));
    EXPECT_EQ(read_status(root_ / "rank_0")->state, "complete") << "it recorded nothing: a launcher";
    other.first_step = other.last_step = 4;
    ASSERT_TRUE(folder->write(other));
  }
  EXPECT_EQ(read_status(root_ / "rank_0")->state, "incomplete");
}

}  // namespace
}  // namespace opdump::dump
