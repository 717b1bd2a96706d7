// The relevant parts of an ONNX model: operators, values, constants. Read with protozero from untrusted
// bytes; onnx.proto defines the field numbers. All names point into these bytes.
//
// Rejected: a truncated file, an operator that needs its own output, a value with two producers or with none,
// subgraphs nested too deeply, tensors whose data do not fit their shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace opdump::onnx {

// An initializer: a tensor whose elements are in the file, or in another one beside it.
struct StoredTensor {
  std::string_view name;
  int element_type = 0;
  std::vector<std::int64_t> dims;
  std::string_view message;  // the TensorProto
  struct External {
    std::string location;  // relative to the model's folder
    std::uint64_t offset = 0, length = 0;
    bool has_length = false;
  };
  bool is_external = false;
  External external;
};

struct NamedValue {
  std::string_view name;
  int element_type = 0;
  bool is_tensor = false;
  bool has_shape = false;
  std::vector<std::int64_t> dims;           // -1: not known before it runs
  std::vector<std::string_view> dim_names;  // "batch", or empty
};

struct Node {
  std::string name;  // as in the file, or made of its type and number if it has none or shares it
  std::string_view type, domain;
  std::vector<std::string_view> inputs, outputs;  // an empty name: none is given
  std::vector<std::string_view> captured;         // values that its subgraphs read from outside
  std::size_t inner_count = 0;                    // operators in its subgraphs
  std::string_view message;                       // the NodeProto
};

struct ModelFile {
  std::string_view bytes;
  std::string graph_name;
  std::vector<Node> nodes;         // in an order of execution
  std::vector<NamedValue> inputs;  // without those that are initializers
  std::vector<NamedValue> outputs;
  std::vector<StoredTensor> initializers;
  std::vector<NamedValue> value_infos;  // what the file says of values between operators
  std::unordered_map<std::string_view, std::size_t> producers;        // value -> node
  std::unordered_map<std::string_view, std::size_t> initializer_of;   // value -> initializer
  std::map<std::string_view, std::int64_t> opsets;                    // domain -> version; "ai.onnx" is ""
  std::set<std::pair<std::string_view, std::string_view>> functions;  // domain and name: defined in the file

  // "onnx::Conv.13": the operator that a node executes, with the version of its domain; "onnx::Conv" where
  // the file names none.
  std::string function_of(const Node& node) const;

  // True if an operator, other than one in a subgraph, is a function that the file defines.
  bool calls_functions() const;
};

// Throws Failure with a description.
ModelFile read_model(std::string_view bytes);

// True if the type names an operator that the graph engine runs itself or does not run at all: constants and
// control flow (cann.md 3.2).
bool is_no_task(const Node& node);

}  // namespace opdump::onnx
