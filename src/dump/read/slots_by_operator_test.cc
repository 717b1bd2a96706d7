#include "dump/read/slots_by_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "dump/read/files/file_names.h"
#include "dump/read/original_names.h"
#include "dump/read/problems.h"
#include "dump/read/slot_store.h"

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

// Makes a row of a table of statistics.
PlacedSlot row_at(std::uint64_t time) {
  PlacedSlot placed = at(time);
  placed.slot.file.clear();
  placed.slot.statistics = SlotStatistics(SlotStatistics::Columns{{"Max Value", "1.5"}});
  return placed;
}

// "name task: slots" of each execution: "time.index", with the file or statistics it has.
std::vector<std::string> drained(SlotsByOperator& slots, const SlotStore& store) {
  std::vector<std::string> runs;
  slots.drain([&](const OperatorRun& run, std::span<const std::uint32_t> numbers) {
    std::string text = run.name + " " + std::to_string(run.task) + ":";
    for (const std::uint32_t number : numbers) {
      const Slot slot = store[number];
      text += " " + std::to_string(slot.timestamp_us) + "." + std::to_string(slot.index);
      text += std::string(slot.file.empty() ? "" : "f") + (slot.statistics.empty() ? "" : "s");
    }
    runs.push_back(text);
  });
  return runs;
}

TEST(SlotsByOperator, OperatorsAsTheyWereMetAndSlotsByTime) {
  SlotStore store;
  SlotsByOperator slots(store, "/dump");
  slots.add({"t", "second", 0, 1}, at(1));  // of a later step
  slots.add({"t", "b"}, at(9));
  slots.add({"t", "a"}, at(3));
  slots.add({"t", "b"}, at(7));
  EXPECT_THAT(drained(slots, store), ElementsAre("b 7: 7.0f", "b 9: 9.0f", "a 3: 3.0f", "second 1: 1.0f"));
}

TEST(SlotsByOperator, AnExecutionEndsWhereAPlaceIsTakenAgain) {
  SlotStore store;
  SlotsByOperator slots(store, "/dump");
  slots.add({"t", "a"}, at(1, 1));
  slots.add({"t", "a"}, at(1, 0));
  slots.add({"t", "a"}, at(2, 0));
  slots.add({"t", "b"}, at(2, 0));
  EXPECT_THAT(drained(slots, store), ElementsAre("a 1: 1.0f 1.1f", "a 2: 2.0f", "b 2: 2.0f"));
}

TEST(SlotsByOperator, AFileAndARowOfOneMomentAreOneSlot) {
  SlotStore store;
  SlotsByOperator slots(store, "/dump");
  slots.add({"t", "a"}, at(1));
  slots.add({"t", "a"}, at(2));
  slots.add({"t", "b"}, at(1));
  slots.add({"t", "a"}, row_at(1));
  slots.add({"t", "a"}, row_at(3));
  slots.add({"t", "a"}, row_at(3));  // ran twice
  EXPECT_THAT(drained(slots, store),
              ElementsAre("a 1: 1.0fs", "a 2: 2.0f", "a 3: 3.0s", "a 3: 3.0s", "b 1: 1.0f"));
}

TEST(SlotStore, KeepsFactsOfFiles) {
  SlotStore store;
  const std::uint32_t number = store.add(at(1).slot, "/dump");
  Slot slot = store[number];
  slot.file_bytes = 99;
  slot.linked = {3, 4};
  slot.shape = model::Shape();
  store.set_file_facts(number, slot);
  EXPECT_EQ(store[number].file, "/dump/1.npy");
  EXPECT_EQ(store.stored_bytes(number), 99u);
  EXPECT_EQ(store[number].linked.inode, 4u);
  EXPECT_EQ(store[number].shape, model::Shape());
  EXPECT_TRUE(store.is_npy_file(number));
  slot.file.clear();
  slot.undumped_reason = "torn";
  store.set_file_facts(number, slot);
  EXPECT_EQ(store[number].file, "");
  EXPECT_EQ(store[number].undumped_reason, "torn");
  EXPECT_EQ(store.stored_bytes(number), 0u);
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
  names.drain(
      [&](const std::string& name, const std::string& original) { pairs.push_back(name + "=" + original); });
  EXPECT_THAT(pairs, ElementsAre("7.npy=new.npy", "a.txt=a.txt", "b.npy=b.npy"));
}

TEST(OriginalNames, TheLastOneCounts) {
  OriginalNames none;
  EXPECT_EQ(none.find("1"), std::nullopt);
  OriginalNames names;
  for (int i = 0; i < 12; ++i)
    names.add("7", "old" + std::to_string(i));  // the last one counts, not the largest
  names.add("7", "new");
  names.add("5", "five");
  names.add("9", "");
  EXPECT_EQ(names.find("6"), std::nullopt);
  EXPECT_EQ(names.find("7"), "new");
  EXPECT_EQ(names.find("8"), std::nullopt);
  EXPECT_EQ(names.find("9"), "");
  EXPECT_EQ(names.find("99"), std::nullopt);
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
