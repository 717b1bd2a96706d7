// Element conversions between dtypes that files and statistics need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/dtype.h"

namespace opdump::math {

// Element `index` of memory that needs no alignment.
template <typename T>
T load(const std::byte* data, std::int64_t index = 0) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

// IEEE half and bfloat16 to float; exact, NaN payloads and signs kept.
float float_from_half(std::uint16_t bits);
float float_from_bfloat16(std::uint16_t bits);

// Element `index` of memory of `dtype` as a double: integers of 64 bits are rounded, bool is 0 or 1. `data`
// needs no alignment. 0 for dtypes without statistics.
double element_as_double(model::DType dtype, const std::byte* data, std::int64_t index);

// True if every element of `dtype` is a float exactly: the floats of up to 32 bits, the integers of up to 16,
// bool. (2^-127 of float8_e8m0 is a subnormal one.)
bool fits_float(model::DType dtype);

// `count` elements of memory of a `dtype` with statistics, as float or as double; what that does not hold
// exactly is rounded as a conversion of the element alone rounds. SIMD; `in` needs no alignment. Packed types
// begin at a whole byte. A signalling NaN may come out quiet.
void convert_elements(model::DType dtype, const std::byte* in, float* out, std::size_t count);
void convert_elements(model::DType dtype, const std::byte* in, double* out, std::size_t count);

// `count` bfloat16 elements widened to float32. SIMD.
void widen_bfloat16(const std::uint16_t* in, float* out, std::size_t count);

// The dtype of .npy that holds every element of `dtype`: itself where .npy has it, float32 for the smaller
// floats, int8 and uint8 for packed integers, complex64 for complex32; undefined for undefined.
model::DType array_dtype(model::DType dtype);

// `count` elements of `dtype` as array_dtype(dtype), of which `out` has room for as many. `in` needs no
// alignment; packed types begin at a whole byte.
void convert_to_array(model::DType dtype, const std::byte* in, std::byte* out, std::size_t count);

// int4 (low nibble first, sign-extended) and uint1 (most significant bit first) to one byte each.
// `out` holds `count` elements; `in` holds ceil(count * bits / 8) bytes.
void unpack_int4(const std::byte* in, std::int8_t* out, std::size_t count);
void unpack_uint1(const std::byte* in, std::uint8_t* out, std::size_t count);

// The packed integers, as the two above and lowest bits first, to int8 or, for the unsigned ones, uint8.
void unpack_integers(model::DType dtype, const std::byte* in, std::byte* out, std::size_t count);

}  // namespace opdump::math
