// The messages of `debugger.ModelProto` as they are on the wire, mindspore.md 5.4: what is read and written
// again is the same file. Absent fields stay absent, and fields that are not listed here (rare kinds of
// values, fields of the similar schema `mindspore.irpb`) are kept as bytes. graph_pb.h defines their meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"

namespace opdump::format::proto {

// DataType, as far as code needs names.
inline constexpr std::int64_t kUndefined = 0, kBool = 1, kInt64 = 5, kFloat64 = 12, kString = 13,
                              kTensor = 14, kTuple = 31, kList = 32, kNone = 34;

// The number of an element type and back; undefined if the other side lacks it.
std::int64_t number_of(model::DType dtype);
model::DType dtype_of(std::int64_t number);

// A message that may be absent and may hold others of its kind.
template <typename Message>
class Child {
 public:
  explicit operator bool() const { return !value_.empty(); }
  Message& operator*() { return value_[0]; }
  const Message& operator*() const { return value_[0]; }
  Message* operator->() { return value_.data(); }
  const Message* operator->() const { return value_.data(); }
  Message& emplace() { return value_.empty() ? value_.emplace_back() : value_[0]; }

 private:
  std::vector<Message> value_;
};

// A field: its number and the member that holds it.
template <typename Member>
struct Field {
  std::uint32_t number;
  Member member;
};
template <typename Member>
Field(std::uint32_t, Member) -> Field<Member>;

// Common to all messages: the unlisted fields, with their tags.
struct Message {
  std::string unlisted;
};

struct DimensionProto : Message {
  std::optional<std::int64_t> size;
  std::optional<std::string> name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &DimensionProto::size}, Field{2, &DimensionProto::name}};
  }
};

struct TensorShapeProto : Message {
  std::vector<DimensionProto> dim;
  static constexpr auto fields() { return std::tuple{Field{1, &TensorShapeProto::dim}}; }
};

struct TensorTypeProto : Message {
  std::optional<std::int64_t> elem_type;
  Child<TensorShapeProto> shape;
  static constexpr auto fields() {
    return std::tuple{Field{1, &TensorTypeProto::elem_type}, Field{2, &TensorTypeProto::shape}};
  }
};

struct TypeProto;
struct SequenceTypeProto : Message {
  std::vector<TypeProto> elem_types;
  static constexpr auto fields() { return std::tuple{Field{1, &SequenceTypeProto::elem_types}}; }
};

struct TypeProto : Message {
  std::optional<std::int64_t> data_type;
  Child<TensorTypeProto> tensor_type;
  Child<SequenceTypeProto> sequence_type;
  static constexpr auto fields() {
    return std::tuple{Field{1, &TypeProto::data_type}, Field{2, &TypeProto::tensor_type},
                      Field{3, &TypeProto::sequence_type}};
  }
};

struct TensorProto : Message {
  std::optional<std::string> tensor_content;
  std::vector<std::int64_t> dims;
  std::optional<std::int64_t> data_type;
  static constexpr auto fields() {
    return std::tuple{Field{3, &TensorProto::tensor_content}, Field{4, &TensorProto::dims},
                      Field{5, &TensorProto::data_type}};
  }
};

struct ValueProto : Message {
  std::optional<std::int64_t> dtype;
  std::optional<bool> bool_val;
  std::optional<std::int64_t> int_val;
  std::optional<std::uint64_t> uint_val;
  std::optional<float> float_val;
  std::optional<double> double_val;
  std::optional<std::string> str_val;
  Child<TensorProto> tensor_val;
  std::vector<ValueProto> values;
  static constexpr auto fields() {
    return std::tuple{
        Field{1, &ValueProto::dtype},    Field{2, &ValueProto::bool_val},   Field{3, &ValueProto::int_val},
        Field{4, &ValueProto::uint_val}, Field{5, &ValueProto::float_val},  Field{6, &ValueProto::double_val},
        Field{7, &ValueProto::str_val},  Field{8, &ValueProto::tensor_val}, Field{18, &ValueProto::values}};
  }
};

struct InputProto : Message {
  std::optional<std::string> name;
  std::optional<std::int64_t> type;
  static constexpr auto fields() {
    return std::tuple{Field{1, &InputProto::name}, Field{2, &InputProto::type}};
  }
};

struct AttributeProto : Message {
  std::optional<std::string> name;
  Child<ValueProto> value;
  static constexpr auto fields() {
    return std::tuple{Field{1, &AttributeProto::name}, Field{2, &AttributeProto::value}};
  }
};

struct NodeProto : Message {
  std::vector<InputProto> input;
  std::optional<std::string> name, op_type, scope;
  std::vector<AttributeProto> attribute;
  Child<TypeProto> output_type;
  std::optional<std::uint64_t> output_i;
  std::optional<std::string> full_name, source_address;
  static constexpr auto fields() {
    return std::tuple{Field{1, &NodeProto::input},         Field{2, &NodeProto::name},
                      Field{3, &NodeProto::op_type},       Field{4, &NodeProto::scope},
                      Field{5, &NodeProto::attribute},     Field{6, &NodeProto::output_type},
                      Field{7, &NodeProto::output_i},      Field{8, &NodeProto::full_name},
                      Field{9, &NodeProto::source_address}};
  }
};

struct ParameterProto : Message {
  std::optional<std::string> name;
  Child<TypeProto> type;
  Child<ValueProto> default_val;
  static constexpr auto fields() {
    return std::tuple{Field{1, &ParameterProto::name}, Field{2, &ParameterProto::type},
                      Field{3, &ParameterProto::default_val}};
  }
};

struct OutputProto : Message {
  std::optional<std::string> name;
  Child<TypeProto> type;
  static constexpr auto fields() {
    return std::tuple{Field{1, &OutputProto::name}, Field{2, &OutputProto::type}};
  }
};

struct NamedValueProto : Message {
  std::optional<std::string> key;
  Child<ValueProto> value;
  std::optional<std::string> full_name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &NamedValueProto::key}, Field{2, &NamedValueProto::value},
                      Field{3, &NamedValueProto::full_name}};
  }
};

struct GraphProto : Message {
  std::vector<NodeProto> node;
  std::optional<std::string> name;
  std::vector<ParameterProto> parameters;
  std::vector<OutputProto> outputs;
  std::vector<NamedValueProto> const_vals;
  std::optional<std::string> root_name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &GraphProto::node},       Field{2, &GraphProto::name},
                      Field{3, &GraphProto::parameters}, Field{4, &GraphProto::outputs},
                      Field{5, &GraphProto::const_vals}, Field{6, &GraphProto::root_name}};
  }
};

struct ModelProto : Message {
  std::optional<std::int64_t> ir_version;
  std::optional<std::string> domain;
  std::optional<std::int64_t> model_version;
  Child<GraphProto> graph;
  static constexpr auto fields() {
    return std::tuple{Field{1, &ModelProto::ir_version}, Field{2, &ModelProto::domain},
                      Field{3, &ModelProto::model_version}, Field{4, &ModelProto::graph}};
  }
};

// Errors: corrupt -- not such a message; limit -- messages are nested more than 100 deep, or there are far
// too many for a file of this size.
Result<ModelProto> decode_model(std::string_view bytes);
Result<GraphProto> decode_graph(std::string_view bytes);  // a GraphProto without its ModelProto

// Fields in the order of their numbers, the unlisted ones last.
std::string encode(const ModelProto& model);
std::string encode(const GraphProto& graph);

}  // namespace opdump::format::proto
