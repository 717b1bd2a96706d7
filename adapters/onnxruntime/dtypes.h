// The numbers of dtypes in ONNX files, which are those of ONNX Runtime too, and ours.
#pragma once

#include <cstdint>

namespace opdump::onnx {

struct ElementType {
  int onnx = 0;            // TensorProto.DataType
  std::uint32_t ours = 0;  // opdump_dtype; undefined if we have no name for it
  std::uint32_t bits = 0;  // of an element; 0: it has no fixed size (strings)
  const char* name = "undefined";
};

inline constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kString = 8, kBool = 9;

// The row of an ONNX number; that of 0 for numbers that we do not know.
const ElementType& element_type(int onnx);

// The ONNX number of an opdump_dtype, 0 if it has none.
int onnx_number(std::uint32_t ours);

// Bytes of `count` elements; elements of less than a byte share one.
std::uint64_t byte_count(const ElementType& type, std::uint64_t count);

}  // namespace opdump::onnx
