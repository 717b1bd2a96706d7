#include "dump/watch_file.h"

#include <gtest/gtest.h>

#include "base/file/file_replacement.h"
#include "dump/temp_directory_test.h"

namespace opdump::dump {
namespace {

TEST(WatchFile, ReadsWhatItWrites) {
  const TempDirectory directory;
  const Watched watched{.kept_steps = 10,
                        .skipped_count = 3,
                        .first_step = 81,
                        .alarm = {.kind = "not_finite",
                                  .step = 90,
                                  .operator_name = "Default/fc-Linear/addmm-op0",
                                  .slot = "output.0",
                                  .text = "\"quoted\"",
                                  .time_us = 1'700'000'000'000'000}};
  ASSERT_TRUE(write_watch_file(directory.path(), watched));
  const auto read = read_watch_file(directory.path());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->kept_steps, 10u);
  EXPECT_EQ(read->skipped_count, 3u);
  EXPECT_EQ(read->first_step, 81);
  EXPECT_EQ(read->alarm.kind, "not_finite");
  EXPECT_EQ(read->alarm.step, 90);
  EXPECT_EQ(read->alarm.operator_name, "Default/fc-Linear/addmm-op0");
  EXPECT_EQ(read->alarm.slot, "output.0");
  EXPECT_EQ(read->alarm.text, "\"quoted\"");
  EXPECT_EQ(read->alarm.time_us, 1'700'000'000'000'000u);
}

TEST(WatchFile, RefusesWhatIsNone) {
  const TempDirectory directory;
  EXPECT_EQ(read_watch_file(directory.path()).error().code(), Code::not_found);
  for (const char* text : {"", "[]", "{}", R"({"schema_version": 2})", R"({"schema_version": 1})"}) {
    ASSERT_TRUE(write_file_atomic(directory.path() / kWatchFileName, text, 0600));
    EXPECT_EQ(read_watch_file(directory.path()).error().code(), Code::corrupt) << text;
  }
}

}  // namespace
}  // namespace opdump::dump
