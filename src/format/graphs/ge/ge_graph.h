// A graph of CANN's graph engine: ge_proto_*.txt, the message ge.proto.ModelDef as text (cann.md 6), and its
// JSON form from `atc --mode=5`, which comparisons read (cann.md 4.5). Page: docs/formats/ge_proto.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/graphs/proto_text.h"

namespace opdump::format {

inline constexpr std::uint64_t kMaxGeGraphBytes = 1 << 30;

// The fields of a ModelDef. Fields that we do not know are kept as they are. Errors: corrupt (no such text, a
// known field of another kind, no graph in it), limit; the message begins with line:column or line.
Result<ProtoMessage> decode_ge_graph(std::string_view text);

// Makes JSON in the form of `atc`: maps are lists of {"key", "value"}, enumerations words, floating-point
// numbers text. Bytes and empty messages are omitted; a map's value that is then empty is null.
nlohmann::json ge_graph_json(const ProtoMessage& model);

// The searchable properties of a graph, as views of the message.
struct GeOperator {
  std::string_view name, type;
  std::vector<std::string_view> inputs;  // "conv1:0"; ":-1" is control, "" nothing
};
struct GeGraph {
  std::string_view name;
  std::vector<GeOperator> operators;
};
// The first one is the graph, others are its sub-graphs.
std::vector<GeGraph> list_ge_graphs(const ProtoMessage& model);

// The attribute `key` of a graph, an operator or a tensor, or null.
const ProtoMessage* find_ge_attribute(const ProtoMessage& owner, std::string_view key);
const ProtoMessage* find_ge_attribute(ProtoMessage&& owner, std::string_view key) = delete;

}  // namespace opdump::format
