#include "dtypes.h"

#include <algorithm>
#include <array>

#include "opdump/opdump.h"

namespace opdump::onnx {
namespace {

// In the order of their numbers. Floats of eight bits come in four kinds, of which we know two; uint4 has no
// name of ours.
constexpr std::array kTypes{
    ElementType{0, OPDUMP_DTYPE_UNDEFINED, 0, "undefined"},
    ElementType{1, OPDUMP_FLOAT32, 32, "float32"},
    ElementType{2, OPDUMP_UINT8, 8, "uint8"},
    ElementType{3, OPDUMP_INT8, 8, "int8"},
    ElementType{4, OPDUMP_UINT16, 16, "uint16"},
    ElementType{5, OPDUMP_INT16, 16, "int16"},
    ElementType{6, OPDUMP_INT32, 32, "int32"},
    ElementType{7, OPDUMP_INT64, 64, "int64"},
    ElementType{8, OPDUMP_DTYPE_UNDEFINED, 0, "string"},
    ElementType{9, OPDUMP_BOOL, 8, "bool"},
    ElementType{10, OPDUMP_FLOAT16, 16, "float16"},
    ElementType{11, OPDUMP_FLOAT64, 64, "float64"},
    ElementType{12, OPDUMP_UINT32, 32, "uint32"},
    ElementType{13, OPDUMP_UINT64, 64, "uint64"},
    ElementType{14, OPDUMP_COMPLEX64, 64, "complex64"},
    ElementType{15, OPDUMP_COMPLEX128, 128, "complex128"},
    ElementType{16, OPDUMP_BFLOAT16, 16, "bfloat16"},
    ElementType{17, OPDUMP_FLOAT8_E4M3, 8, "float8_e4m3fn"},
    ElementType{18, OPDUMP_DTYPE_UNDEFINED, 8, "float8_e4m3fnuz"},
    ElementType{19, OPDUMP_FLOAT8_E5M2, 8, "float8_e5m2"},
    ElementType{20, OPDUMP_DTYPE_UNDEFINED, 8, "float8_e5m2fnuz"},
    ElementType{21, OPDUMP_DTYPE_UNDEFINED, 4, "uint4"},
    ElementType{22, OPDUMP_INT4, 4, "int4"},
};

}  // namespace

const ElementType& element_type(int onnx) {
  return kTypes[onnx >= 0 && static_cast<std::size_t>(onnx) < kTypes.size() ? static_cast<std::size_t>(onnx)
                                                                            : 0];
}

int onnx_number(std::uint32_t ours) {
  if (ours == OPDUMP_DTYPE_UNDEFINED) return 0;
  const auto* found = std::ranges::find(kTypes, ours, &ElementType::ours);
  return found == kTypes.end() ? 0 : found->onnx;
}

std::uint64_t byte_count(const ElementType& type, std::uint64_t count) {
  return type.bits >= 8 ? count * (type.bits / 8) : (count * type.bits + 7) / 8;
}

}  // namespace opdump::onnx
