// Fields of untrusted protobuf messages. protozero only asserts that a field has the wire type it is read as;
// these functions throw protozero's exceptions for broken messages.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string_view>

namespace opdump::onnx {

inline void need(const protozero::pbf_reader& field, protozero::pbf_wire_type type) {
  if (field.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
}

inline std::string_view text_of(protozero::pbf_reader& field) {
  need(field, protozero::pbf_wire_type::length_delimited);
  const auto view = field.get_view();
  return {view.data(), view.size()};
}

inline protozero::pbf_reader message_of(protozero::pbf_reader& field) {
  need(field, protozero::pbf_wire_type::length_delimited);
  return field.get_message();
}

inline std::int64_t integer_of(protozero::pbf_reader& field) {
  need(field, protozero::pbf_wire_type::varint);
  return field.get_int64();
}

inline float float_of(protozero::pbf_reader& field) {
  need(field, protozero::pbf_wire_type::fixed32);
  return field.get_float();
}

inline double double_of(protozero::pbf_reader& field) {
  need(field, protozero::pbf_wire_type::fixed64);
  return field.get_double();
}

}  // namespace opdump::onnx
