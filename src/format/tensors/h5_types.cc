#include "format/tensors/h5_types.h"

#include <array>
#include <string_view>

namespace opdump::format {
namespace {

using model::DType;

H5ElementType find_integer(const H5Library& h5, hid_t type) {
  const std::size_t bytes = h5.H5Tget_size(type);
  if (h5.H5Tget_precision(type) != bytes * 8 || h5.H5Tget_offset(type) != 0) return {};
  const bool is_signed = h5.H5Tget_sign(type) == H5T_SGN_2;
  const bool little = bytes == 1 || h5.H5Tget_order(type) == H5T_ORDER_LE;
  switch (bytes) {
    case 1:
      return {is_signed ? DType::int8 : DType::uint8, little};
    case 2:
      return {is_signed ? DType::int16 : DType::uint16, little};
    case 4:
      return {is_signed ? DType::int32 : DType::uint32, little};
    case 8:
      return {is_signed ? DType::int64 : DType::uint64, little};
    default:
      return {};
  }
}

// Where the fields of a float lie, in bits.
struct FloatFields {
  DType dtype;
  std::size_t sign, exponent, exponent_bits, mantissa, mantissa_bits, bias;
  bool operator==(const FloatFields&) const = default;
};
constexpr std::array kFloats = {
    FloatFields{DType::float16, 15, 10, 5, 0, 10, 15}, FloatFields{DType::bfloat16, 15, 7, 8, 0, 7, 127},
    FloatFields{DType::float32, 31, 23, 8, 0, 23, 127}, FloatFields{DType::float64, 63, 52, 11, 0, 52, 1023}};

H5ElementType find_float(const H5Library& h5, hid_t type) {
  FloatFields fields{};
  if (h5.H5Tget_fields(type, &fields.sign, &fields.exponent, &fields.exponent_bits, &fields.mantissa,
                       &fields.mantissa_bits) < 0)
    return {};
  fields.bias = h5.H5Tget_ebias(type);
  const auto order = h5.H5Tget_order(type);
  if (h5.H5Tget_norm(type) != H5T_NORM_IMPLIED || (order != H5T_ORDER_LE && order != H5T_ORDER_BE)) return {};
  for (const FloatFields& known : kFloats) {
    fields.dtype = known.dtype;
    if (fields == known && h5.H5Tget_size(type) * 8 == model::dtype_info(known.dtype).bits)
      return {known.dtype, order == H5T_ORDER_LE};
  }
  return {};
}

std::string member_name(const H5Library& h5, hid_t type, unsigned index) {
  char* const text = h5.H5Tget_member_name(type, index);
  if (text == nullptr) return {};
  std::string name(text);
  h5.H5free_memory(text);
  return name;
}

H5ElementType find_enumeration(const H5Library& h5, hid_t type) {
  const H5Id base(h5.H5Tget_super(type), h5.H5Tclose);
  if (!base) return {};
  const H5ElementType element = find_integer(h5, base.get());
  const bool is_boolean = element.dtype == DType::int8 && h5.H5Tget_nmembers(type) == 2 &&
                          member_name(h5, type, 0) == "FALSE" && member_name(h5, type, 1) == "TRUE";
  return is_boolean ? H5ElementType{DType::boolean, true} : H5ElementType{};
}

H5ElementType find_complex(const H5Library& h5, hid_t type) {
  if (h5.H5Tget_nmembers(type) != 2 || member_name(h5, type, 0) != "r" || member_name(h5, type, 1) != "i")
    return {};
  const H5Id real(h5.H5Tget_member_type(type, 0), h5.H5Tclose);
  const H5Id imaginary(h5.H5Tget_member_type(type, 1), h5.H5Tclose);
  if (!real || !imaginary || h5.H5Tget_class(real.get()) != H5T_FLOAT ||
      h5.H5Tget_class(imaginary.get()) != H5T_FLOAT)
    return {};
  const H5ElementType first = find_float(h5, real.get()), second = find_float(h5, imaginary.get());
  const std::size_t bytes = h5.H5Tget_size(real.get());
  // Big endian ones would need a conversion that nobody has asked for.
  if (first.dtype != second.dtype || !first.is_little_endian || !second.is_little_endian ||
      h5.H5Tget_size(type) != 2 * bytes || h5.H5Tget_member_offset(type, 1) != bytes)
    return {};
  if (first.dtype == DType::float32) return {DType::complex64, true};
  return first.dtype == DType::float64 ? H5ElementType{DType::complex128, true} : H5ElementType{};
}

}  // namespace

H5ElementType find_element_type(const H5Library& h5, hid_t type) {
  switch (h5.H5Tget_class(type)) {
    case H5T_INTEGER:
      return find_integer(h5, type);
    case H5T_FLOAT:
      return find_float(h5, type);
    case H5T_ENUM:
      return find_enumeration(h5, type);
    case H5T_COMPOUND:
      return find_complex(h5, type);
    default:
      return {};
  }
}

hid_t file_type_of(const H5Library& h5, DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
      return h5.H5T_STD_I8LE_g;
    case DType::int16:
      return h5.H5T_STD_I16LE_g;
    case DType::int32:
      return h5.H5T_STD_I32LE_g;
    case DType::int64:
      return h5.H5T_STD_I64LE_g;
    case DType::uint8:
      return h5.H5T_STD_U8LE_g;
    case DType::uint16:
      return h5.H5T_STD_U16LE_g;
    case DType::uint32:
      return h5.H5T_STD_U32LE_g;
    case DType::uint64:
      return h5.H5T_STD_U64LE_g;
    case DType::float32:
      return h5.H5T_IEEE_F32LE_g;
    case DType::float64:
      return h5.H5T_IEEE_F64LE_g;
    default:
      return -1;
  }
}

}  // namespace opdump::format
