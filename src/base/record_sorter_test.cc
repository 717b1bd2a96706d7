#include "base/record_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace opdump {
namespace {

std::vector<std::string> drain(RecordSorter& sorter) {
  std::vector<std::string> records;
  RecordSorter::Reader reader = sorter.sorted();
  for (;;) {
    const auto more = reader.next();
    EXPECT_TRUE(more);
    if (!more || !*more) return records;
    records.emplace_back(reader.record());
  }
}

TEST(RecordSorter, GivesNothingOfNothing) {
  RecordSorter sorter;
  EXPECT_TRUE(drain(sorter).empty());
}

TEST(RecordSorter, SortsWhatFitsIntoMemory) {
  RecordSorter sorter;
  for (const char* record : {"b", "", "abc", "ab", "b"}) sorter.add(record);
  EXPECT_EQ(sorter.size(), 5U);
  EXPECT_EQ(drain(sorter), (std::vector<std::string>{"", "ab", "abc", "b", "b"}));
}

TEST(RecordSorter, SortsWhatDoesNot) {
  std::mt19937_64 random(1);
  std::vector<std::string> records;
  RecordSorter sorter;
  for (std::size_t i = 0; i < 400000; ++i) {
    std::string record = std::to_string(random() % 1000000) + std::string(random() % 100, 'x');
    if (i % 50000 == 7) record.append(9 << 20, 'y');  // longer than what is sorted at once
    sorter.add(record);
    records.push_back(std::move(record));
  }
  std::ranges::sort(records);
  EXPECT_TRUE(drain(sorter) == records);
}

TEST(RecordSorter, IsVisited) {
  RecordSorter sorter;
  for (const char* record : {"b", "", "c", "", "b", "a"}) sorter.add(record);
  std::vector<std::string> all, different;
  const auto into = [](std::vector<std::string>& list) {
    return [&list](std::string_view record) { return list.emplace_back(record), ok(); };
  };
  EXPECT_TRUE(sorter.visit(into(all)));
  EXPECT_EQ(all, (std::vector<std::string>{"", "", "a", "b", "b", "c"}));
  EXPECT_TRUE(sorter.visit_different(into(different)));
  EXPECT_EQ(different, (std::vector<std::string>{"", "a", "b", "c"}));

  std::size_t count = 0;
  const auto done = sorter.visit(
      [&](std::string_view) -> Result<> { return ++count < 3 ? ok() : Error(Code::limit, "enough"); });
  EXPECT_EQ(done.error().message(), "enough");
  EXPECT_EQ(count, 3U);
}

TEST(SortKey, ComesInOrderAsItsValuesDo) {
  using Values = std::tuple<std::string, std::int64_t, std::uint64_t>;
  const std::string zeros("a\0b\0", 4);
  std::vector<std::pair<std::string, Values>> records;
  for (const std::string& text :
       {std::string(), std::string("a"), std::string("a\0", 2), zeros, std::string("a\1")})
    for (const std::int64_t signed_number : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX})
      for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{256}, UINT64_MAX}) {
        std::string record;
        SortKey(record).text(text).signed_number(signed_number).number(number);
        records.emplace_back(std::move(record), Values(text, signed_number, number));
      }
  for (const auto& [record, values] : records) {
    SortKeyReader in(record);
    const std::string text = in.text();
    const std::int64_t signed_number = in.signed_number();
    EXPECT_EQ(std::tuple(text, signed_number, in.number()), values);
    EXPECT_TRUE(in.rest().empty());
  }
  for (const auto& [a, a_values] : records)
    for (const auto& [b, b_values] : records) EXPECT_EQ(a < b, a_values < b_values);
}

}  // namespace
}  // namespace opdump
