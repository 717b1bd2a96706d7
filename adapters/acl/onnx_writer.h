// The parts of an ONNX model that calls of single operators are written as.
#pragma once

#include <acl/acl_base.h>

#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <variant>
#include <vector>

namespace opdump::acl {

inline constexpr std::int64_t kOnnxOpset = 17, kOnnxIrVersion = 8;

using AttributeValue = std::variant<bool, std::int64_t, float, std::string, aclDataType,
                                    std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>>;
using Attributes = std::map<std::string, AttributeValue>;

struct OnnxNode {
  std::string type, name;
  std::vector<std::string> inputs, outputs;  // "": an omitted one
  Attributes attributes;
};

// The first thing in a model.
void write_versions(protozero::pbf_writer& model);
void write_node(protozero::pbf_writer& graph, const OnnxNode& node);
void write_input(protozero::pbf_writer& graph, const std::string& name, aclDataType type,
                 const std::vector<std::int64_t>& dims);
// Its type follows from the operators.
void write_output(protozero::pbf_writer& graph, const std::string& name);

}  // namespace opdump::acl
