#include "onnx_writer.h"

#include "base.h"

namespace opdump::acl {
namespace {

using protozero::pbf_writer;

// AttributeProto: a field for each kind of value, and the number of the kind.
struct AttributeWriter {
  pbf_writer& to;
  void operator()(bool value) const { (*this)(std::int64_t{value}); }
  void operator()(aclDataType value) const { (*this)(std::int64_t{data_type(value).onnx}); }
  void operator()(std::int64_t value) const {
    to.add_int64(3, value);
    to.add_enum(20, 2);
  }
  void operator()(float value) const {
    to.add_float(2, value);
    to.add_enum(20, 1);
  }
  void operator()(const std::string& value) const {
    to.add_bytes(4, value);
    to.add_enum(20, 3);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values) to.add_int64(8, value);
    to.add_enum(20, 7);
  }
  void operator()(const std::vector<float>& values) const {
    for (const float value : values) to.add_float(7, value);
    to.add_enum(20, 6);
  }
  void operator()(const std::vector<std::string>& values) const {
    for (const std::string& value : values) to.add_bytes(9, value);
    to.add_enum(20, 8);
  }
};

}  // namespace

void write_versions(pbf_writer& model) {
  model.add_int64(1, kOnnxIrVersion);
  pbf_writer(model, 8).add_int64(2, kOnnxOpset);
}

void write_node(pbf_writer& graph, const OnnxNode& op) {
  pbf_writer node(graph, 1);
  for (const std::string& input : op.inputs) node.add_string(1, input);
  for (const std::string& output : op.outputs) node.add_string(2, output);
  node.add_string(3, op.name);
  node.add_string(4, op.type);
  for (const auto& [name, value] : op.attributes) {
    pbf_writer attribute(node, 5);
    attribute.add_string(1, name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

void write_input(pbf_writer& graph, const std::string& name, aclDataType data,
                 const std::vector<std::int64_t>& dims) {
  pbf_writer value(graph, 11);
  value.add_string(1, name);
  pbf_writer type(value, 2);
  pbf_writer tensor(type, 1);
  tensor.add_int32(1, data_type(data).onnx);
  std::string shape;  // also if it is empty: that of a scalar
  pbf_writer list(shape);
  for (const std::int64_t dim : dims) pbf_writer(list, 1).add_int64(1, dim);
  tensor.add_message(2, shape);
}

void write_output(pbf_writer& graph, const std::string& name) { pbf_writer(graph, 12).add_string(1, name); }

}  // namespace opdump::acl
