#include "format/graphs/ge/ge_schema.h"

#include <algorithm>
#include <array>

namespace opdump::format {
namespace {

using enum GeField::Type;
using M = GeMessage;

constexpr bool kList = true;

constexpr std::array kModel{
    GeField{"name", text},
    GeField{"version", integer},
    GeField{"custom_version", text},
    GeField{"graph", message, kList, M::graph},
    GeField{"attr", message, kList, M::attribute},
};
constexpr std::array kGraph{
    GeField{"name", text},
    GeField{"input", text, kList},
    GeField{"output", text, kList},
    GeField{"op", message, kList, M::op},
    GeField{"attr", message, kList, M::attribute},
};
constexpr std::array kOp{
    GeField{"name", text},
    GeField{"type", text},
    GeField{"input", text, kList},
    GeField{"attr", message, kList, M::attribute},
    GeField{"has_out_attr", boolean},
    GeField{"id", integer},
    GeField{"stream_id", integer},
    GeField{"input_name", text, kList},
    GeField{"src_name", text, kList},
    GeField{"src_index", integer, kList},
    GeField{"dst_name", text, kList},
    GeField{"dst_index", integer, kList},
    GeField{"input_i", integer, kList},
    GeField{"output_i", integer, kList},
    GeField{"workspace", integer, kList},
    GeField{"workspace_bytes", integer, kList},
    GeField{"is_input_const", boolean, kList},
    GeField{"input_desc", message, kList, M::tensor_descriptor},
    GeField{"output_desc", message, kList, M::tensor_descriptor},
    GeField{"subgraph_name", text, kList},
};
constexpr std::array kTensorDescriptor{
    GeField{"name", text},
    GeField{"dtype", enumeration},
    GeField{"shape", message, false, M::shape},
    GeField{"layout", text},
    GeField{"attr", message, kList, M::attribute},
    GeField{"has_out_attr", boolean},
    GeField{"size", integer},
    GeField{"weight_size", integer},
    GeField{"reuse_input", boolean},
    GeField{"output_tensor", boolean},
    GeField{"device_type", text},
    GeField{"input_tensor", boolean},
    GeField{"real_dim_cnt", integer},
    GeField{"reuse_input_index", integer},
    GeField{"data_offset", integer},
    GeField{"cmps_size", integer},
    GeField{"cmps_tab", text},
    GeField{"cmps_tab_offset", integer},
};
constexpr std::array kShape{GeField{"dim", integer, kList}};
constexpr std::array kTensor{
    GeField{"desc", message, false, M::tensor_descriptor},
    GeField{"data", bytes},
};
constexpr std::array kAttribute{
    GeField{"key", text},
    GeField{"value", message, false, M::value},
};
constexpr std::array kValue{
    GeField{"list", message, false, M::list},
    GeField{"s", text},
    GeField{"i", integer},
    GeField{"f", real},
    GeField{"b", boolean},
    GeField{"bt", bytes},
    GeField{"func", message, false, M::named_attributes},
    GeField{"td", message, false, M::tensor_descriptor},
    GeField{"t", message, false, M::tensor},
    GeField{"g", message, false, M::graph},
    GeField{"list_list_int", message, false, M::list_list_int},
    GeField{"dt", integer},
    GeField{"list_list_float", message, false, M::list_list_float},
    GeField{"expression", text},
};
constexpr std::array kListValue{
    GeField{"s", text, kList},
    GeField{"i", integer, kList},
    GeField{"f", real, kList},
    GeField{"b", boolean, kList},
    GeField{"bt", bytes, kList},
    GeField{"td", message, kList, M::tensor_descriptor},
    GeField{"t", message, kList, M::tensor},
    GeField{"g", message, kList, M::graph},
    GeField{"na", message, kList, M::named_attributes},
    GeField{"dt", integer, kList},
    GeField{"val_type", enumeration},
};
constexpr std::array kNamedAttributes{
    GeField{"name", text},
    GeField{"attr", message, kList, M::attribute},
};
constexpr std::array kListListInt{GeField{"list_list_i", message, kList, M::list_int}};
constexpr std::array kListInt{GeField{"list_i", integer, kList}};
constexpr std::array kListListFloat{GeField{"list_list_f", message, kList, M::list_float}};
constexpr std::array kListFloat{GeField{"list_f", real, kList}};

}  // namespace

std::span<const GeField> ge_fields(GeMessage message) {
  switch (message) {
    case M::none:
      return {};
    case M::model:
      return kModel;
    case M::graph:
      return kGraph;
    case M::op:
      return kOp;
    case M::tensor_descriptor:
      return kTensorDescriptor;
    case M::shape:
      return kShape;
    case M::tensor:
      return kTensor;
    case M::attribute:
      return kAttribute;
    case M::value:
      return kValue;
    case M::list:
      return kListValue;
    case M::named_attributes:
      return kNamedAttributes;
    case M::list_list_int:
      return kListListInt;
    case M::list_int:
      return kListInt;
    case M::list_list_float:
      return kListListFloat;
    case M::list_float:
      return kListFloat;
  }
  return {};
}

const GeField* find_ge_field(GeMessage message, std::string_view name) {
  const auto fields = ge_fields(message);
  const auto found = std::ranges::find(fields, name, &GeField::name);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace opdump::format
