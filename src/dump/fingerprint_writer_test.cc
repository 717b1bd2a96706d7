#include "dump/fingerprint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "dump/read/dump_set_reader.h"
#include "dump/read/files/fingerprint_rows.h"
#include "dump/read/summary_test.h"
#include "dump/temp_directory_test.h"
#include "dump/write/budget.h"
#include "dump/write/folder/existing_dump.h"
#include "dump/write/rank_tree.h"
#include "format/tables/fingerprints.h"
#include "plan/dump_plan.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;
using model::DType;
using model::Side;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kTime = 1733905446000000;
constexpr std::size_t kHeader = format::kFingerprintHeaderBytes;

std::vector<std::string> columns() {
  std::vector<std::string> names;
  for (const plan::Statistic statistic : plan::fingerprint_statistics())
    names.emplace_back(plan::statistic_table()[static_cast<std::size_t>(statistic)].column);
  return names;
}

// All that a dump knows of its slots.
std::vector<std::string> list_slots(const DumpSet& set) {
  std::vector<std::string> lines;
  for (const OperatorRun& run : set.runs())
    for (const Slot& slot : run.slots) {
      std::string line =
          std::to_string(run.rank) + "/" + std::to_string(run.graph_id) + "/" + std::to_string(run.step) +
          " " + run.type + " " + run.name + " " + std::to_string(run.task) + " " +
          std::to_string(run.stream) + " " + std::string(model::kSideNames[static_cast<int>(slot.side)]) +
          std::to_string(slot.index) + " " + std::to_string(slot.timestamp_us) + " " + slot.format + " " +
          std::string(model::dtype_info(slot.dtype).name) + " " + model::format_shape(*slot.shape);
      for (const auto& [name, value] : slot.statistics.columns()) line += " " + name + "=" + value;
      lines.push_back(line);
    }
  return lines;
}

class FingerprintsTest : public testing::Test {
 protected:
  std::unique_ptr<SchemeWriter> open(const fs::path& root, std::uint32_t rank = 0, bool as_table = false) {
    auto tree = open_rank_tree({root, "model", rank, columns(), false});
    EXPECT_TRUE(tree) << tree.error().message();
    if (as_table) return std::move(*tree);
    auto writer = write_fingerprints(std::move(*tree), rank_directory(root, rank));
    EXPECT_TRUE(writer) << writer.error().message();
    return std::move(*writer);
  }

  // A step of operators, each of which reads what the one before has made.
  static void write_step(SchemeWriter& writer, std::int64_t step, std::int64_t graph = 0, int count = 3,
                         int later = 0) {
    for (int i = 0; i < count; ++i) {
      model::Operator op;
      op.type = "add.mm";
      op.name = "Default/layer" + std::to_string(i) + "/addmm-op0";
      op.stream = i;
      const auto row = [&](int made) {
        StatisticRow values{8, made % 2 == 0 ? DType::float32 : DType::int64, model::Shape({2, made}), {}};
        values.values.max = made * 1.25 + static_cast<double>(step);
        values.values.min = -0.0;
        values.values.avg = (made + 1) / 3.0;
        values.values.l2norm = made == 2 ? 1e-42 : 1 / 7.0;
        values.values.nan_count = made == 1 ? 5 : 0;
        values.xxh128 = "0123456789abcdef0123456789abcd" + std::to_string(10 + made + step % 50);
        return values;
      };
      SlotAddress address{.op = &op,
                          .graph_id = graph,
                          .step = step,
                          .timestamp_us = kTime + static_cast<std::uint64_t>(100 * step + i + later)};
      EXPECT_TRUE(writer.write_statistics(address, row(i)));
      address.side = Side::output;
      EXPECT_TRUE(writer.write_statistics(address, row(i + 1)));
    }
  }

  static DumpSet read(const fs::path& path) {
    auto set = DumpSet::open(path);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*set);
  }
  static std::string bytes_of(const fs::path& path) { return *read_file(path, 1 << 30); }
  static void put(const fs::path& path, std::string_view bytes) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  TempDirectory directory_;
  fs::path root_ = directory_.path() / "dump";
  fs::path file_ = root_ / "rank_0" / format::kFingerprintsName;
};

TEST_F(FingerprintsTest, ADumpSaysTheSameAsWithTables) {
  const fs::path tables = directory_.path() / "tables";
  for (const bool as_table : {false, true}) {
    const auto writer = open(as_table ? tables : root_, 0, as_table);
    for (std::int64_t step = 0; step < 5; ++step) {
      write_step(*writer, step, step % 2);
      ASSERT_TRUE(writer->flush());
    }
    write_step(*writer, 2, 0, 3, 50);  // once more: another execution of each operator
  }
  const DumpSet set = read(root_);
  EXPECT_THAT(set.problems(), testing::IsEmpty());
  EXPECT_EQ(set.runs().size(), 18U);
  EXPECT_EQ(list_slots(set), list_slots(read(tables)));
  EXPECT_EQ(list_slots(set), list_slots(read(root_ / "rank_0")));
  EXPECT_EQ(list_slots(set), list_slots(read(file_)));
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read);
  EXPECT_FALSE(fs::exists(root_ / "rank_0" / "model"));
}

TEST_F(FingerprintsTest, RanksHaveFilesOfTheirOwn) {
  for (const std::uint32_t rank : {0U, 3U}) write_step(*open(root_, rank), 7);
  const DumpSet set = read(root_);
  EXPECT_THAT(summary(set), testing::Contains(HasSubstr("3/0/7")));
  EXPECT_EQ(set.runs().size(), 6U);
}

TEST_F(FingerprintsTest, NumbersOfDirectoriesAboveMeanNothing) {
  const fs::path root = directory_.path() / "42";
  write_step(*open(root), 7);
  EXPECT_THAT(summary(read(root)), testing::Each(testing::StartsWith("0/0/7 ")));
}

TEST_F(FingerprintsTest, AStepIsOfTheGraphThatItTurnsOutToBe) {
  const auto writer = open(root_);
  write_step(*writer, 0, 4);
  write_step(*writer, 1, 4);
  ASSERT_TRUE(writer->flush());
  write_step(*writer, 1, 4);
  ASSERT_TRUE(writer->move_step(1, 4, 6));
  write_step(*writer, 1, 4);  // by a thread that does not know it yet
  ASSERT_TRUE(writer->flush());
  std::size_t moved = 0;
  for (const std::string& line : list_slots(read(root_))) {
    EXPECT_TRUE(line.starts_with("0/4/0 ") || line.starts_with("0/6/1 ")) << line;
    moved += line.starts_with("0/6/1 ");
  }
  EXPECT_EQ(moved, 18U);
  EXPECT_FALSE(fs::exists(root_ / "rank_0" / "model"));
}

TEST_F(FingerprintsTest, AFileCutAnywhereIsReadUntilThere) {
  std::vector<std::size_t> ends{0};
  {
    const auto writer = open(root_);
    for (std::int64_t step = 0; step < 3; ++step) {
      write_step(*writer, step);
      ASSERT_TRUE(writer->flush());
      ends.push_back(fs::file_size(file_));
    }
  }
  const std::string whole = bytes_of(file_);
  const std::vector<std::string> slots = list_slots(read(root_));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    put(file_, whole.substr(0, size));
    const DumpSet set = read(root_);
    std::size_t blocks = 0;
    while (ends[blocks + 1] <= size) ++blocks;
    EXPECT_EQ(list_slots(set).size(), blocks * slots.size() / 3) << size;
    if (size == ends[blocks]) {
      EXPECT_THAT(set.problems(), testing::IsEmpty()) << size;
      continue;
    }
    ASSERT_EQ(set.problems().size(), 1U) << size;
    EXPECT_EQ(set.problems()[0].path.filename(), format::kFingerprintsName);
    EXPECT_EQ(set.problems()[0].what.find("cut short at byte " + std::to_string(ends[blocks]) + ": "), 0U)
        << set.problems()[0].what;
  }
}

TEST_F(FingerprintsTest, ADamagedBlockIsNamedAndLeftOut) {
  std::vector<std::size_t> ends;
  for (int recording = 0; recording < 2; ++recording) {
    const auto writer = open(root_);
    for (std::int64_t step = 0; step < 3; ++step) {
      write_step(*writer, 10 * recording + step);
      ASSERT_TRUE(writer->flush());
      ends.push_back(fs::file_size(file_));
    }
  }
  const std::string whole = bytes_of(file_);
  std::string other = whole;
  other[ends[0] + kHeader + 3] ^= 1;
  put(file_, other);
  const DumpSet damaged = read(root_);
  EXPECT_EQ(damaged.runs().size(), 4 * 3U);  // not the third, which refers to the second
  ASSERT_EQ(damaged.problems().size(), 2U);
  EXPECT_THAT(damaged.problems()[0].what,
              AllOf(HasSubstr("byte " + std::to_string(ends[0]) + ": "), HasSubstr("damaged"),
                    HasSubstr("checksum"), HasSubstr("6 rows are left out")));
  EXPECT_THAT(damaged.problems()[1].what, HasSubstr("from byte " + std::to_string(ends[1]) + " on: 1 block"));

  other = whole;
  other[ends[0] + 20] ^= 1;  // a header, without which nobody knows where the block ends
  put(file_, other);
  EXPECT_EQ(read(root_).runs().size(), 4 * 3U);

  // A recording that was killed, and one that was added to it.
  put(file_, whole.substr(0, ends[2] - 5) + whole.substr(ends[2]));
  const DumpSet added = read(root_);
  EXPECT_EQ(added.runs().size(), 5 * 3U);
  ASSERT_EQ(added.problems().size(), 1U);
  EXPECT_THAT(added.problems()[0].what, HasSubstr("byte " + std::to_string(ends[1]) + ": "));
}

TEST_F(FingerprintsTest, OneDamagedBlockIsOneProblem) {
  std::size_t second = 0;
  for (int recording = 0; recording < 2; ++recording) {
    const auto writer = open(root_);
    for (std::int64_t step = 0; step < 300; ++step) {
      write_step(*writer, 1000 * recording + step);
      ASSERT_TRUE(writer->flush());
      if (recording == 0 && step == 0) second = fs::file_size(file_);
    }
  }
  std::string bytes = bytes_of(file_);
  bytes[second + kHeader + 3] ^= 1;
  put(file_, bytes);
  const DumpSet set = read(root_);
  EXPECT_EQ(set.runs().size(), 3 * 301U);
  ASSERT_EQ(set.problems().size(), 2U);
  EXPECT_THAT(set.problems()[1].what, HasSubstr("298 blocks with 1788 rows cannot be read"));
}

// What a file says of itself is no reason to take memory.
TEST_F(FingerprintsTest, HostileNumbersAreRefused) {
  write_step(*open(root_), 0);
  const std::string whole = bytes_of(file_);
  const auto with = [&](std::size_t at, std::uint32_t number) {
    std::string other = whole;
    for (std::size_t i = 0; i < 4; ++i) other[at + i] = static_cast<char>(number >> (8 * i));
    const auto crc = ::crc32_z(0, reinterpret_cast<const unsigned char*>(other.data()), kHeader - 4);
    for (std::size_t i = 0; i < 4; ++i) other[kHeader - 4 + i] = static_cast<char>(crc >> (8 * i));
    put(file_, other);
    const DumpSet set = read(root_);
    EXPECT_TRUE(set.runs().empty());
    EXPECT_EQ(set.problems().size(), 1U);
    return set.problems().empty() ? std::string() : set.problems()[0].what;
  };
  EXPECT_THAT(with(8, 3), AllOf(HasSubstr("version 3"), HasSubstr("byte 0")));
  EXPECT_THAT(with(28, UINT32_MAX), AllOf(HasSubstr("4294967295 rows"), HasSubstr("byte 0")));
  EXPECT_THAT(with(28, 60'000), HasSubstr("60000 rows"));
  EXPECT_THAT(with(28, 7), HasSubstr("fewer rows"));
  EXPECT_THAT(with(32, UINT32_MAX), HasSubstr("4294967295 bytes"));
  EXPECT_THAT(with(32, 16 << 20), HasSubstr("cut short at byte 0"));
}

TEST_F(FingerprintsTest, WritersOfOneFileDoNotDisturbEachOther) {
  {
    const auto first = open(root_), second = open(root_);
    for (std::int64_t step = 0; step < 4; ++step) {
      write_step(*first, 2 * step);
      ASSERT_TRUE(first->flush());
      write_step(*second, 2 * step + 1, 0, 5);
      ASSERT_TRUE(second->flush());
    }
  }
  const DumpSet set = read(root_);
  EXPECT_THAT(set.problems(), testing::IsEmpty());
  EXPECT_EQ(set.runs().size(), 4 * (3 + 5U));
}

TEST_F(FingerprintsTest, WhatWasReadIsNotReadAgain) {
  FingerprintFiles files;
  const auto look = [&] {
    auto set = DumpSetReader::read(root_, {}, &files);
    EXPECT_TRUE(set);
    return std::move(*set);
  };
  const auto writer = open(root_);
  write_step(*writer, 0);
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(look().runs().size(), 3U);
  // Nobody sees what becomes of the beginning.
  std::fstream(file_, std::ios::binary | std::ios::in | std::ios::out) << "nonsense";
  write_step(*writer, 1);
  ASSERT_TRUE(writer->flush());
  const DumpSet second = look();
  EXPECT_THAT(second.problems(), testing::IsEmpty());
  EXPECT_EQ(second.runs().size(), 6U);
  EXPECT_EQ(read(root_).runs().size(), 0U);
  // A block that is being written counts once it is whole.
  write_step(*writer, 2);
  ASSERT_TRUE(writer->flush());
  const std::string whole = bytes_of(file_);
  fs::resize_file(file_, whole.size() - 9);
  EXPECT_EQ(look().problems().size(), 1U);
  std::ofstream(file_, std::ios::binary | std::ios::app) << whole.substr(whole.size() - 9);
  const DumpSet third = look();
  EXPECT_THAT(third.problems(), testing::IsEmpty());
  EXPECT_EQ(third.runs().size(), 9U);
}

TEST_F(FingerprintsTest, ItIsAFileOfTheDump) {
  write_step(*open(root_), 0);
  EXPECT_EQ(find_dump({root_, 0, {}}, ""), root_ / "rank_0");
  ASSERT_TRUE(remove_dump({root_, 0, {}}));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(FingerprintsTest, ABudgetCountsTheRowsOfTheFile) {
  const auto budget = std::make_shared<Budget>(std::uint64_t{1} << 20, directory_.path());
  const auto writer = limit_writes(open(root_), budget, kFingerprintRowBytes);
  write_step(*writer, 0);
  EXPECT_EQ(budget->spent(), 6 * kFingerprintRowBytes);
}

}  // namespace
}  // namespace opdump::dump
