#include "format/tensors/tlv_dump.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace opdump::format {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string number(std::uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text.push_back(static_cast<char>(value >> 8 * i & 0xFF));
  return text;
}

std::string tlv(std::uint32_t tag, const std::string& value) {
  return number(tag, 4) + number(value.size(), 4) + value;
}

std::string item(std::uint32_t dtype, std::uint64_t size, const std::string& details, bool is_output) {
  std::string text = number(dtype, 4) + number(3, 4) + number(0, 4);
  if (is_output) text += number(2, 4) + number(1, 4) + number(0, 4);
  return text + number(0x1000, 8) + number(0, 8) + number(size, 8) + number(details.size(), 4) + details;
}

std::string file_of(const std::string& inputs, const std::string& outputs, const std::string& payload) {
  std::string header = number(0x5A5A5A5A, 4) + number(7, 4);
  if (!inputs.empty()) header += tlv(4, number(1, 4) + inputs);
  header += tlv(9, "what is not known is skipped") + tlv(5, number(1, 4) + outputs);
  return number(header.size(), 8) + header + payload;
}

TEST(TlvDump, InputsAndOutputs) {
  const std::string shape = tlv(0, number(2, 8) + number(3, 8)), original = tlv(1, number(6, 8));
  const std::string file = file_of(item(0, 24, shape + original, false),
                                   item(1, 12, shape + tlv(2, "conv"), true), std::string(36, 'x'));
  ASSERT_TRUE(is_tlv_dump(bytes_of(file)));
  const auto data = decode_tlv_dump(bytes_of(file));
  ASSERT_TRUE(data) << data.error().message();
  ASSERT_EQ(data->inputs.size(), 1u);
  ASSERT_EQ(data->outputs.size(), 1u);
  const DumpTensor &in = data->inputs[0], &out = data->outputs[0];
  EXPECT_EQ(in.data_type, 1);
  EXPECT_EQ(out.data_type, 2);
  EXPECT_EQ(in.format, 3);
  EXPECT_EQ(in.shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(in.original_shape, (std::vector<std::uint64_t>{6}));
  EXPECT_EQ(out.origin->name, "conv");
  EXPECT_EQ(out.origin->output_index, 2u);
  const std::uint64_t start = file.size() - 36;
  EXPECT_EQ(in.data, (Extent{start, 24}));
  EXPECT_EQ(out.data, (Extent{start + 24, 12}));
  EXPECT_EQ(data->version, "7");
}

TEST(TlvDump, WithoutAShapeAllBytesAreMeant) {
  const std::string scalar = tlv(0, ""), original = tlv(1, number(6, 8));
  for (const auto& [dtype, details, shape] : {std::tuple(0, original, std::vector<std::uint64_t>{6}),
                                              std::tuple(1, std::string(), std::vector<std::uint64_t>{12}),
                                              std::tuple(30, std::string(), std::vector<std::uint64_t>{192}),
                                              std::tuple(0, scalar, std::vector<std::uint64_t>{}),
                                              std::tuple(99, std::string(), std::vector<std::uint64_t>{})}) {
    const std::string file =
        file_of("", item(static_cast<std::uint32_t>(dtype), 24, details, true), std::string(24, 'x'));
    const auto data = decode_tlv_dump(bytes_of(file));
    ASSERT_TRUE(data) << data.error().message();
    EXPECT_EQ(data->outputs[0].shape, shape) << dtype;
  }
}

TEST(TlvDump, GapsBetweenDetails) {
  const std::string shape = tlv(0, number(6, 8)), original = tlv(1, number(6, 8)), name = tlv(2, "conv");
  const auto gaps_of = [](const std::string& details, bool is_output) {
    const std::string tensor = item(0, 24, details, is_output);
    const std::string file = is_output ? file_of("", tensor, "") : file_of(tensor, item(0, 0, "", true), "");
    std::vector<TlvGap> gaps;
    EXPECT_TRUE(decode_tlv_dump(bytes_of(file), &gaps));
    std::string text;
    for (const TlvGap& gap : gaps)
      text += std::to_string(gap.wanted) + "/" + std::to_string(gap.found) + ":" +
              std::to_string(gap.length) + " ";
    return text;
  };
  EXPECT_EQ(gaps_of(shape + original, false), "");
  EXPECT_EQ(gaps_of(shape + original + name, true), "");
  EXPECT_EQ(gaps_of("", true) + gaps_of(shape, true) + gaps_of(tlv(0, ""), false), "");  // an end is no gap
  EXPECT_EQ(gaps_of(name, true), "0/2:4 1/2:4 ");
  EXPECT_EQ(gaps_of(original, false), "0/1:8 ");
  EXPECT_EQ(gaps_of(shape + name, false), "1/2:4 ");
  EXPECT_EQ(gaps_of(original + shape, true), "0/1:8 2/0:8 ");
  EXPECT_EQ(gaps_of(tlv(0, "xx") + original, false), "0/0:2 ");
  EXPECT_EQ(gaps_of(tlv(7, "xx"), true), "0/7:2 1/7:2 2/7:2 ");
}

TEST(TlvDump, ShortFilesHaveNoData) {
  const std::string file = file_of("", item(0, 24, "", true), std::string(23, 'x'));
  const auto data = decode_tlv_dump(bytes_of(file));
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->outputs[0].data);
  EXPECT_EQ(data->announced_bytes, 24u);
  EXPECT_EQ(data->payload_bytes, 23u);
}

TEST(TlvDump, SizesThatOverflow) {
  const std::string file = file_of(item(0, UINT64_MAX, "", false), item(0, 2, "", true), "xy");
  const auto data = decode_tlv_dump(bytes_of(file));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->announced_bytes, UINT64_MAX);
  EXPECT_FALSE(data->inputs[0].data);
}

TEST(TlvDump, EveryCutIsRefusedOrHasNoData) {
  const std::string shape = tlv(0, number(2, 8));
  const std::string file = file_of(item(0, 8, shape, false), item(0, 8, shape, true), std::string(16, 'x'));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string part = file.substr(0, size);
    const auto data = decode_tlv_dump(bytes_of(part));
    if (data) {
      EXPECT_GT(data->announced_bytes, data->payload_bytes);
      EXPECT_FALSE(data->inputs[0].data);
    }
  }
}

TEST(TlvDump, CountsAreNotBelieved) {
  const std::string header = number(0x5A5A5A5A, 4) + number(0, 4) + tlv(4, number(60000, 4));
  const auto few = decode_tlv_dump(bytes_of(number(header.size(), 8) + header));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code(), Code::corrupt);
  const std::string many = number(0x5A5A5A5A, 4) + number(0, 4) + tlv(4, number(UINT32_MAX, 4));
  const std::string file = number(many.size(), 8) + many;
  EXPECT_EQ(decode_tlv_dump(bytes_of(file)).error().code(), Code::limit);
}

TEST(TlvDump, OtherFiles) {
  EXPECT_FALSE(is_tlv_dump({}));
  const std::string message = number(4, 8) + "\x0a\x02" + "10" + "xxxxxxxx";
  EXPECT_FALSE(is_tlv_dump(bytes_of(message)));
  EXPECT_FALSE(decode_tlv_dump(bytes_of(message)));
}

}  // namespace
}  // namespace opdump::format
