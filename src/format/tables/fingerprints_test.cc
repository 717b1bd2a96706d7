#include "format/tables/fingerprints.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::DType;
using model::Side;

struct Given {
  FingerprintMoment moment;
  FingerprintSlot slot;
  FingerprintContent content;
};

FingerprintContent content_of(std::uint64_t seed) {
  std::minstd_rand random(static_cast<std::uint32_t>(seed + 1));
  const auto number = [&] { return static_cast<double>(random()) / 1e7 - 100; };
  FingerprintContent content{number(), number() * 1e-6, number(), std::abs(number()),
                             seed % 7 == 0 ? seed : 0};
  for (std::byte& byte : content.hash) byte = static_cast<std::byte>(random() >> 5);
  return content;
}

// What an operator makes, the next one reads.
std::vector<Given> make_step(std::int64_t step, std::int64_t graph, int operators) {
  std::vector<Given> rows;
  for (int op = 0; op < operators; ++op) {
    const FingerprintMoment moment{
        step, graph,
        1'700'000'000'000'000U + 1000U * static_cast<unsigned>(step) + 3U * static_cast<unsigned>(op)};
    const std::string name = "Default_layer" + std::to_string(op) + "-Linear_addmm-op0";
    for (const bool is_output : {false, true})
      rows.push_back({moment,
                      {"addmm", name, 7, is_output ? Side::output : Side::input, is_output ? 0U : 1U,
                       op % 2 == 0 ? DType::float32 : DType::int64, model::Shape({op, -1, 1 << 20})},
                      content_of(static_cast<std::uint64_t>(step * 1000 + op + (is_output ? 1 : 0)))});
  }
  return rows;
}

void add(FingerprintEncoder& encoder, const Given& row) {
  encoder.add(row.moment,
              {row.slot.op_type, row.slot.op_name, row.slot.stream, row.slot.side, row.slot.index,
               row.slot.dtype, row.slot.shape},
              row.content);
}

struct ReadBlocks {
  FingerprintTable table{};
  std::vector<FingerprintRow> rows{};
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> moves{};
};

Result<> decode(FingerprintDecoder& decoder, std::string_view block, ReadBlocks& read) {
  const auto bytes = std::as_bytes(std::span(block));
  OPDUMP_TRY(const FingerprintHeader header, decode_fingerprint_header(bytes));
  if (header.block_bytes() > bytes.size()) return Error(Code::corrupt, "short");
  return decoder.decode(header, bytes.subspan(kFingerprintHeaderBytes, header.body_bytes), read.table,
                        {[&](const FingerprintRow& row) { read.rows.push_back(row); },
                         [&](auto step, auto from, auto to) { read.moves.emplace_back(step, from, to); }});
}

void expect_same(const ReadBlocks& read, const std::vector<Given>& given) {
  ASSERT_EQ(read.rows.size(), given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const FingerprintRow& row = read.rows[i];
    EXPECT_EQ(row.moment.step, given[i].moment.step);
    EXPECT_EQ(row.moment.graph_id, given[i].moment.graph_id);
    EXPECT_EQ(row.moment.time_us, given[i].moment.time_us);
    const FingerprintSlot& slot = read.table.slots[row.slot];
    EXPECT_EQ(slot.op_type, given[i].slot.op_type);
    EXPECT_EQ(slot.op_name, given[i].slot.op_name);
    EXPECT_EQ(slot.stream, given[i].slot.stream);
    EXPECT_EQ(slot.side, given[i].slot.side);
    EXPECT_EQ(slot.index, given[i].slot.index);
    EXPECT_EQ(slot.dtype, given[i].slot.dtype);
    EXPECT_EQ(slot.shape, given[i].slot.shape);
    const FingerprintContent& content = read.table.contents[row.content];
    for (const auto field : {&FingerprintContent::max, &FingerprintContent::min, &FingerprintContent::avg,
                             &FingerprintContent::l2norm})
      EXPECT_EQ(format_g(content.*field), format_g(given[i].content.*field));
    EXPECT_EQ(content.nan_count, given[i].content.nan_count);
    EXPECT_EQ(content.hash, given[i].content.hash);
  }
}

TEST(Fingerprints, WhatIsWrittenIsRead) {
  FingerprintEncoder encoder(1);
  FingerprintDecoder decoder;
  ReadBlocks read;
  std::vector<Given> all;
  // Steps of two graphs in turn, in blocks that end anywhere.
  for (std::int64_t step = 0; step < 20; ++step)
    for (const Given& row : make_step(step, step % 2, step % 2 == 0 ? 5 : 8)) {
      add(encoder, row);
      all.push_back(row);
      if (all.size() % 23 != 0) continue;
      EXPECT_TRUE(decode(decoder, encoder.take_block(), read));
    }
  EXPECT_TRUE(decode(decoder, encoder.take_block(), read));
  expect_same(read, all);
  EXPECT_TRUE(encoder.is_empty());
  EXPECT_EQ(read.table.slots.size(), 2 * 8U);
}

TEST(Fingerprints, ALaterStepTakesLessThanFortyBytesARow) {
  FingerprintEncoder encoder(1);
  for (std::int64_t step = 0; step < 3; ++step) {
    for (const Given& row : make_step(step, 0, 500)) add(encoder, row);
    const std::size_t bytes = encoder.take_block().size();
    if (step == 0) continue;
    EXPECT_LT(bytes, 1000U * 21);  // every other row is what another one made
  }
}

TEST(Fingerprints, StatisticsPrintTheSameDigits) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<Given> all;
  FingerprintEncoder encoder(1);
  FingerprintDecoder decoder;
  ReadBlocks read;
  std::mt19937_64 random(3);
  std::vector<double> values{0.0,   -0.0, inf,  -inf,    nan,         -nan,        1e300,    -4.9e-324,
                             1e-40, 0.1,  1e38, 3.41e38, 3.402823e38, 1.17549e-38, 123456.5, 123455.5};
  for (int i = 0; i < 2000; ++i) values.push_back(std::ldexp(static_cast<double>(random()), -100 + i % 70));
  for (const double value : values) {
    all.push_back(make_step(0, 0, 1).front());
    all.back().content.max = all.back().content.avg = value;
    all.back().content.hash[0] = static_cast<std::byte>(all.size());
    add(encoder, all.back());
    // A single one that is out of range does not lengthen the others.
    ASSERT_TRUE(decode(decoder, encoder.take_block(), read));
  }
  expect_same(read, all);
}

TEST(Fingerprints, AMoveIsOfEarlierRowsOnly) {
  FingerprintEncoder encoder(1);
  FingerprintDecoder decoder;
  ReadBlocks read;
  add(encoder, make_step(4, 0, 1).front());
  ASSERT_TRUE(decode(decoder, encoder.take_block(), read));
  add(encoder, make_step(4, 0, 1).back());
  encoder.move(4, 0, 9);
  EXPECT_FALSE(encoder.is_empty());
  ASSERT_TRUE(decode(decoder, encoder.take_block(), read));
  EXPECT_EQ(read.rows[0].moment.graph_id, 0);
  EXPECT_EQ(read.rows[1].moment.graph_id, 9);
  ASSERT_EQ(read.moves.size(), 1U);
  EXPECT_EQ(read.moves[0], std::tuple(4, 0, 9));
}

TEST(Fingerprints, AStreamBeginsAnewNowAndThen) {
  FingerprintEncoder encoder(1);
  std::vector<std::string> blocks;
  std::vector<std::size_t> first;  // blocks that need no earlier one
  std::uint64_t bytes = 0;
  for (int step = 0; bytes < (std::uint64_t{34} << 20); ++step) {
    for (int i = 0; i < 20; ++i) {
      Given row = make_step(0, 0, 1).front();
      row.slot.op_name = std::string(20'000, 'x') + std::to_string(20 * step + i);
      add(encoder, row);
    }
    blocks.push_back(encoder.take_block());
    bytes += blocks.back().size();
    const auto header = decode_fingerprint_header(std::as_bytes(std::span(blocks.back())));
    ASSERT_TRUE(header);
    if (header->first == header->number) first.push_back(blocks.size() - 1);
  }
  ASSERT_EQ(first.size(), 3U);
  // Without the second block, those until there cannot be read, and all others can.
  FingerprintDecoder decoder;
  ReadBlocks read;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (i != 1) lost += !decode(decoder, blocks[i], read);
  EXPECT_EQ(lost, first[1] - 2);
}

TEST(Fingerprints, DynamicShapesDoNotFillTheMemory) {
  FingerprintEncoder encoder(1);
  FingerprintDecoder decoder;
  ReadBlocks read;
  Given row = make_step(0, 0, 1).front();
  std::size_t anew = 0;
  for (std::int64_t i = 0; i < 140'000; ++i) {
    row.slot.shape = model::Shape({i});
    add(encoder, row);
    if (!encoder.is_full()) continue;
    const std::string block = encoder.take_block();
    anew += decode_fingerprint_header(std::as_bytes(std::span(block)))->number ==
            decode_fingerprint_header(std::as_bytes(std::span(block)))->first;
    ASSERT_TRUE(decode(decoder, block, read));
  }
  EXPECT_GE(anew, 3U);
}

// Whatever byte is another one, there is an error and no row.
TEST(Fingerprints, EveryByteIsChecked) {
  FingerprintEncoder encoder(1);
  for (const Given& row : make_step(0, 0, 3)) add(encoder, row);
  const std::string block = encoder.take_block();
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::string other = block;
    other[i] = static_cast<char>(other[i] ^ 0x10);
    FingerprintDecoder decoder;
    ReadBlocks read;
    EXPECT_FALSE(decode(decoder, other, read)) << i;
    EXPECT_TRUE(read.rows.empty()) << i;
    EXPECT_FALSE(decode(decoder, block.substr(0, i), read)) << i;
  }
}

}  // namespace
}  // namespace opdump::format
