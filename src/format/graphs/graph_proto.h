// The messages of `debugger.ModelProto` as they are on the wire, mindspore.md 5.4: what is read and written
// again is the same file. Fields that are absent stay absent, and what is not listed here (rare kinds of
// values, fields of the sibling schema `mindspore.irpb`) is kept as bytes. graph_pb.h tells what they mean.
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

// The number of an element type and back; undefined for what the other side has no word for.
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

// What every message has: the fields that are not listed, with their tags.
struct Message {
  std::string unlisted;
};

struct Dimension : Message {
  std::optional<std::int64_t> size;
  std::optional<std::string> name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Dimension::size}, Field{2, &Dimension::name}};
  }
};

struct TensorShape : Message {
  std::vector<Dimension> dim;
  static constexpr auto fields() { return std::tuple{Field{1, &TensorShape::dim}}; }
};

struct TensorType : Message {
  std::optional<std::int64_t> elem_type;
  Child<TensorShape> shape;
  static constexpr auto fields() {
    return std::tuple{Field{1, &TensorType::elem_type}, Field{2, &TensorType::shape}};
  }
};

struct Type;
struct SequenceType : Message {
  std::vector<Type> elem_types;
  static constexpr auto fields() { return std::tuple{Field{1, &SequenceType::elem_types}}; }
};

struct Type : Message {
  std::optional<std::int64_t> data_type;
  Child<TensorType> tensor_type;
  Child<SequenceType> sequence_type;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Type::data_type}, Field{2, &Type::tensor_type},
                      Field{3, &Type::sequence_type}};
  }
};

struct Tensor : Message {
  std::optional<std::string> tensor_content;
  std::vector<std::int64_t> dims;
  std::optional<std::int64_t> data_type;
  static constexpr auto fields() {
    return std::tuple{Field{3, &Tensor::tensor_content}, Field{4, &Tensor::dims},
                      Field{5, &Tensor::data_type}};
  }
};

struct Value : Message {
  std::optional<std::int64_t> dtype;
  std::optional<bool> bool_val;
  std::optional<std::int64_t> int_val;
  std::optional<std::uint64_t> uint_val;
  std::optional<float> float_val;
  std::optional<double> double_val;
  std::optional<std::string> str_val;
  Child<Tensor> tensor_val;
  std::vector<Value> values;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Value::dtype},    Field{2, &Value::bool_val},   Field{3, &Value::int_val},
                      Field{4, &Value::uint_val}, Field{5, &Value::float_val},  Field{6, &Value::double_val},
                      Field{7, &Value::str_val},  Field{8, &Value::tensor_val}, Field{18, &Value::values}};
  }
};

struct Input : Message {
  std::optional<std::string> name;
  std::optional<std::int64_t> type;
  static constexpr auto fields() { return std::tuple{Field{1, &Input::name}, Field{2, &Input::type}}; }
};

struct Attribute : Message {
  std::optional<std::string> name;
  Child<Value> value;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Attribute::name}, Field{2, &Attribute::value}};
  }
};

struct Node : Message {
  std::vector<Input> input;
  std::optional<std::string> name, op_type, scope;
  std::vector<Attribute> attribute;
  Child<Type> output_type;
  std::optional<std::uint64_t> output_i;
  std::optional<std::string> full_name, source_address;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Node::input},    Field{2, &Node::name},      Field{3, &Node::op_type},
                      Field{4, &Node::scope},    Field{5, &Node::attribute}, Field{6, &Node::output_type},
                      Field{7, &Node::output_i}, Field{8, &Node::full_name}, Field{9, &Node::source_address}};
  }
};

struct Parameter : Message {
  std::optional<std::string> name;
  Child<Type> type;
  Child<Value> default_val;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Parameter::name}, Field{2, &Parameter::type},
                      Field{3, &Parameter::default_val}};
  }
};

struct Output : Message {
  std::optional<std::string> name;
  Child<Type> type;
  static constexpr auto fields() { return std::tuple{Field{1, &Output::name}, Field{2, &Output::type}}; }
};

struct NamedValue : Message {
  std::optional<std::string> key;
  Child<Value> value;
  std::optional<std::string> full_name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &NamedValue::key}, Field{2, &NamedValue::value},
                      Field{3, &NamedValue::full_name}};
  }
};

struct Graph : Message {
  std::vector<Node> node;
  std::optional<std::string> name;
  std::vector<Parameter> parameters;
  std::vector<Output> outputs;
  std::vector<NamedValue> const_vals;
  std::optional<std::string> root_name;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Graph::node},    Field{2, &Graph::name},       Field{3, &Graph::parameters},
                      Field{4, &Graph::outputs}, Field{5, &Graph::const_vals}, Field{6, &Graph::root_name}};
  }
};

struct Model : Message {
  std::optional<std::int64_t> ir_version;
  std::optional<std::string> domain;
  std::optional<std::int64_t> model_version;
  Child<Graph> graph;
  static constexpr auto fields() {
    return std::tuple{Field{1, &Model::ir_version}, Field{2, &Model::domain}, Field{3, &Model::model_version},
                      Field{4, &Model::graph}};
  }
};

// Errors: corrupt -- not such a message; limit -- messages are nested more than 100 deep, or there are far
// more of them than a file of this size has use for.
Result<Model> decode_model(std::string_view bytes);
Result<Graph> decode_graph(std::string_view bytes);  // a GraphProto without its ModelProto

// Fields in the order of their numbers, the unlisted ones last.
std::string encode(const Model& model);
std::string encode(const Graph& graph);

}  // namespace opdump::format::proto
