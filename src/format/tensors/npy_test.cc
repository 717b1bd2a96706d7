#include "format/tensors/npy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace opdump::format {
namespace {

using model::DType;
using model::Shape;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A version 1.0 file with this dictionary and `data_bytes` zeros.
std::string file_with(const std::string& dictionary, std::size_t data_bytes) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dictionary.size() & 0xFF);
  file += static_cast<char>(dictionary.size() >> 8);
  return file + dictionary + std::string(data_bytes, '\0');
}

TEST(Npy, HeaderBytes) {
  EXPECT_EQ(*encode_npy_header(DType::float32, {2, 3}),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }" + std::string(58, ' ') + "\n");
  EXPECT_EQ(*encode_npy_header(DType::boolean, {}),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '|b1', 'fortran_order': False, 'shape': (), }" + std::string(62, ' ') + "\n");
  EXPECT_EQ(*encode_npy_header(DType::complex128, {7}),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                "{'descr': '<c16', 'fortran_order': False, 'shape': (7,), }" + std::string(59, ' ') + "\n");
}

// Already aligned: the padding is 64 blanks, not none.
TEST(Npy, PaddingIsNeverEmpty) {
  // 10 + 53 + dims + 1 = 128 with dims of 64 characters: 16 times "100,".
  const Shape shape{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 1000, 10, 100};
  const std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': "
      "(100,100,100,100,100,100,100,100,100,100,100,100,100,"
      "1000,10,100,), }";
  ASSERT_EQ(dictionary.size(), 119u);
  for (std::int64_t last : {1, 10, 100, 1000}) {
    Shape varied = shape;
    varied.dims()[15] = last;
    const std::string header = *encode_npy_header(DType::float32, varied);
    const std::size_t text = 119 - 3 + std::to_string(last).size();
    const std::size_t expected = text == 117 ? 128 + 64 : (10 + text + 1 + 64) / 64 * 64;
    EXPECT_EQ(header.size(), expected) << last;
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(header[header.size() - 2], ' ');
  }
}

TEST(Npy, DecodesWhatItEncodes) {
  for (int number = 0; number < model::kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    auto encoded = encode_npy_header(dtype, {2, 0, 5});
    if (model::dtype_info(dtype).npy_descr.empty()) {
      EXPECT_EQ(encoded.error().code(), Code::unsupported);
      continue;
    }
    auto header = decode_npy_header(bytes_of(*encoded));
    ASSERT_TRUE(header) << header.error().message();
    EXPECT_EQ(header->dtype, dtype);
    EXPECT_EQ(header->shape, (Shape{2, 0, 5}));
    EXPECT_EQ(header->data_offset, encoded->size());
  }
}

TEST(Npy, ReadsAnyLegalSpelling) {
  const std::vector<std::string> spellings{
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }   \n",
      "{\"shape\":(2,3,),\"fortran_order\":True,\"descr\":\"<f4\"}",
      " { 'fortran_order' : True , 'shape' : ( 2L , 3L ) , 'descr' : '=f4' } \n",
  };
  for (const std::string& spelling : spellings) {
    auto header = decode_npy_header(bytes_of(file_with(spelling, 24)));
    ASSERT_TRUE(header) << spelling << header.error().message();
    EXPECT_EQ(header->dtype, DType::float32);
    EXPECT_EQ(header->shape, (Shape{2, 3}));
    EXPECT_TRUE(header->fortran_order);
    EXPECT_EQ(header->data_offset, 10 + spelling.size());
    EXPECT_EQ(header->data_bytes(), 24u);
  }
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  const std::string dictionary = "{'descr': '<E2', 'fortran_order': False, 'shape': (), }\n";
  for (const char major : {'\2', '\3'}) {
    std::string file = std::string("\x93NUMPY") + major + std::string("\0", 1) +
                       std::string({static_cast<char>(dictionary.size()), 0, 0, 0}) + dictionary + "ab";
    auto header = decode_npy_header(bytes_of(file));
    ASSERT_TRUE(header) << header.error().message();
    EXPECT_EQ(header->dtype, DType::bfloat16);
    file[6] = '\4';
    EXPECT_EQ(decode_npy_header(bytes_of(file)).error().code(), Code::unsupported);
  }
}

TEST(Npy, RefusesWithAReason) {
  const auto refusal = [](const std::string& dictionary, std::size_t data_bytes = 64) {
    auto header = decode_npy_header(bytes_of(file_with(dictionary, data_bytes)));
    return header ? "accepted" : header.error().message();
  };
  const std::string rest = ", 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(refusal("{'descr': '|O'" + rest), "dtype '|O': object arrays hold pickles and are never read");
  EXPECT_EQ(refusal("{'descr': '|V2'" + rest),
            "dtype '|V2': raw 2-byte elements; bfloat16 must be saved as float32");
  EXPECT_EQ(refusal("{'descr': '>f4'" + rest), "dtype '>f4': big endian; only little endian is read");
  EXPECT_EQ(refusal("{'descr': '<U4'" + rest), "dtype '<U4': expected one of the numeric types");
  EXPECT_EQ(refusal("{'descr': [('a', '<f4')]" + rest),
            "header: structured dtype; one number per element is read");
  EXPECT_EQ(refusal("{'descr': '<f4'" + rest, 7), "header: 2 elements of 4 bytes announced, 7 bytes in file");
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': False}"), "header: shape is missing");
  EXPECT_EQ(refusal("{'descr': '<f4', 'descr': '<f4'" + rest), "header: descr is given twice");
  EXPECT_EQ(refusal("{'descr': '<f4', 'x': 1" + rest),
            "header: key other than descr, fortran_order and shape");
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
            "header: at byte 51 of the dictionary, expected a dimension");
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,3)}"),
            "header: shape (9223372036854775807,3) is larger than any file");
  EXPECT_EQ(refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}"),
            "header: 4611686018427387904 elements of 4 bytes announced, 64 bytes in file");
}

TEST(Npy, EveryPrefixIsCorrupt) {
  const std::string file = *encode_npy_header(DType::int16, {3}) + "abcdef";
  ASSERT_TRUE(decode_npy_header(bytes_of(file)));
  for (std::size_t length = 0; length < file.size(); ++length) {
    auto header = decode_npy_header(bytes_of(file).first(length));
    ASSERT_FALSE(header) << length;
    EXPECT_EQ(header.error().code(), Code::corrupt) << length;
  }
  EXPECT_TRUE(decode_npy_header(bytes_of(file).first(128), file.size()));
  EXPECT_FALSE(decode_npy_header(bytes_of(file).first(128), file.size() - 1));
}

TEST(Npy, HeaderLengthIsLimited) {
  const std::string file = std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12) + "{}";
  EXPECT_EQ(decode_npy_header(bytes_of(file)).error().code(), Code::limit);
  const std::vector<std::int64_t> many(40000, 1);
  EXPECT_EQ(encode_npy_header(DType::int8, Shape(many)).error().code(), Code::limit);
}

}  // namespace
}  // namespace opdump::format
