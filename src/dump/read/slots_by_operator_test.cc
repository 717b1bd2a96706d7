#include "dump/read/slots_by_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dump/file_names.h"
#include "dump/read/executions.h"
#include "dump/read/original_names.h"
#include "dump/read/problems.h"

namespace opdump::dump {
namespace {

using ::testing::ElementsAre;

PlacedSlot at(std::uint64_t time, std::uint32_t index = 0) {
  PlacedSlot placed;
  placed.slot.timestamp_us = time;
  placed.slot.index = index;
  placed.slot.file = "/dump/" + std::to_string(time) + ".npy";
  placed.task = time;
  return placed;
}

// "name@time" of each slot, as drain() gives them.
std::vector<std::string> drained(SlotsByOperator& slots) {
  std::vector<std::string> names;
  EXPECT_TRUE(slots.drain([&](const OperatorKey& op, const PlacedSlot& placed) {
    names.push_back(op.name + "@" + std::to_string(placed.slot.timestamp_us));
    return ok();
  }));
  return names;
}

TEST(SlotsByOperator, OperatorsAsTheyWereMetAndSlotsByTime) {
  SlotsByOperator slots("/dump");
  slots.add({"t", "second", 0, 1}, at(1));  // of a later step
  slots.add({"t", "b"}, at(9));
  slots.add({"t", "a"}, at(3));
  slots.add({"t", "b"}, at(7));
  EXPECT_THAT(drained(slots), ElementsAre("b@7", "b@9", "a@3", "second@1"));
}

TEST(SlotsByOperator, HasMoreThanMemoryHasRoomFor) {
  constexpr std::uint64_t kOperators = 100000;
  SlotsByOperator slots("/dump");
  for (std::uint64_t time = 2; time-- > 0;)
    for (std::uint64_t i = 0; i < kOperators; ++i) {
      PlacedSlot placed = at(time);
      placed.task = i;
      slots.add({"t", "op" + std::to_string(i * 7919 % kOperators)}, placed);
    }
  std::uint64_t met = 0;
  ASSERT_TRUE(slots.drain([&](const OperatorKey& op, const PlacedSlot& placed) -> Result<> {
    const std::uint64_t i = met / 2;
    const bool is_right = op.name == "op" + std::to_string(i * 7919 % kOperators) && placed.task == i &&
                          placed.slot.timestamp_us == met % 2 &&
                          placed.slot.file == "/dump/" + std::to_string(met % 2) + ".npy";
    ++met;
    return is_right ? ok() : Result<>(Error(Code::internal, "slot " + std::to_string(met)));
  }));
  EXPECT_EQ(met, 2 * kOperators);
}

TEST(Executions, EndWhereAPlaceIsTakenAgain) {
  std::vector<std::string> runs;
  const TakeRun take = [&](const OperatorRun& run) {
    runs.push_back(run.name + " " + std::to_string(run.task) + " " + std::to_string(run.slots.size()));
  };
  Executions executions(take);
  EXPECT_TRUE(executions.add({"t", "a"}, at(1, 1)));
  EXPECT_TRUE(executions.add({"t", "a"}, at(1, 0)));
  EXPECT_TRUE(executions.add({"t", "a"}, at(2, 0)));
  EXPECT_TRUE(executions.add({"t", "b"}, at(2, 0)));
  EXPECT_TRUE(executions.finish());
  EXPECT_THAT(runs, ElementsAre("a 1 2", "a 2 1", "b 2 1"));
}

TEST(Executions, ComeInPartsIfTheirSlotsAreVeryMany) {
  constexpr std::uint32_t kSlots = 3 * kSlotsInPart + 1;
  std::vector<std::uint32_t> indices;
  std::vector<std::string> ends;  // of executions
  const TakeRun take = [&](const OperatorRun& run) {
    EXPECT_LE(run.slots.size(), kSlotsInPart);
    for (const Slot& slot : run.slots) indices.push_back(slot.index);
    if (run.has_more) return;
    ends.push_back(run.name + " " + std::to_string(run.task) + " " + std::to_string(indices.size()));
    EXPECT_TRUE(std::ranges::is_sorted(indices));
    EXPECT_EQ(std::ranges::adjacent_find(indices), indices.end());
    indices.clear();
  };
  Executions executions(take);
  for (std::uint32_t i = kSlots; i-- > 0;) EXPECT_TRUE(executions.add({"t", "a"}, at(kSlots - i, i)));
  EXPECT_TRUE(executions.add({"t", "a"}, at(kSlots + 1, kSlots - 1)));  // ran again
  EXPECT_TRUE(executions.add({"t", "a"}, at(kSlots + 2, 0)));
  for (std::uint32_t i = 0; i < kSlotsInPart; ++i) EXPECT_TRUE(executions.add({"t", "b"}, at(7, i)));
  EXPECT_TRUE(executions.finish());
  EXPECT_THAT(ends, ElementsAre("a 1 12289", "a 12290 2", "b 7 4096"));
}

TEST(FileNames, AreSortedAndKnowWhatTheyStandFor) {
  FileNames names;
  for (const char* name : {"b.npy", "7.npy", "a.txt"}) names.add(name);
  EXPECT_TRUE(names.have_dump_file());
  EXPECT_FALSE(names.have_mapping());
  names.add_original("7.npy", "old.npy");
  names.add_original("7.npy", "new.npy");
  names.add_original("8.npy", "absent.npy");
  std::vector<std::string> pairs;
  ASSERT_TRUE(names.drain(
      [&](const std::string& name, const std::string& original) { pairs.push_back(name + "=" + original); }));
  EXPECT_THAT(pairs, ElementsAre("7.npy=new.npy", "a.txt=a.txt", "b.npy=b.npy"));
}

TEST(OriginalNames, AreFoundInTheOrderOfNames) {
  OriginalNames none;
  EXPECT_EQ(*none.find("1"), std::nullopt);
  OriginalNames names;
  for (int i = 0; i < 12; ++i)
    names.add("7", "old" + std::to_string(i));  // the last one counts, not the largest
  names.add("7", "new");
  names.add("5", "five");
  names.add("9", "");
  EXPECT_EQ(*names.find("6"), std::nullopt);
  EXPECT_EQ(*names.find("7"), "new");
  EXPECT_EQ(*names.find("8"), std::nullopt);
  EXPECT_EQ(*names.find("9"), "");
  EXPECT_EQ(*names.find("99"), std::nullopt);
}

TEST(Problems, OfVeryManyTheFirstAreKept) {
  Problems problems;
  for (std::size_t i = 0; i < Problems::kKept + 5; ++i) problems.push_back({"file", std::to_string(i)});
  ASSERT_EQ(problems.list().size(), Problems::kKept + 1);
  EXPECT_EQ(problems.list()[Problems::kKept - 1].what, std::to_string(Problems::kKept - 1));
  EXPECT_EQ(problems.list().back().what, "5 more like these; of the last one: 1004");
}

}  // namespace
}  // namespace opdump::dump
