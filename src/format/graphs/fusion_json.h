// The graph of an offline model as JSON, cann.md 4.5 and 6: `atc --mode=1 --om=m.om --json=m.json`, or
// --mode=5 of a ge_proto text. Reads the parts that map operators to the operators of the original model that
// they replace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace opdump::format {

// An entry of output_desc that has attributes.
struct FusionOutput {
  std::string origin_name;                   // "" if absent
  std::optional<std::int64_t> origin_index;  // stated, or the position
  std::string origin_format;                 // "NCHW"; "" if it is not stated
  std::vector<std::int64_t> origin_shape;
  std::string dtype;  // "DT_INT8"
  bool operator==(const FusionOutput&) const = default;
};

struct FusionOp {
  std::string name, type;
  std::int64_t sequence = 0;                // "id"
  std::vector<std::string> inputs;          // "op:index", control edges and empty ones left out
  std::vector<std::string> original_names;  // {""} if the compiler made the operator
  bool has_original_names = false;          // else original_names is its own name
  std::string l1_group;                     // operators that share the first-level buffer; "" for none
  bool is_multi = false;                    // one of several made of several
  std::vector<FusionOutput> outputs;
  bool operator==(const FusionOp&) const = default;
};

// Receives an operator; `graph` is the number of its graph. Its error ends the reading.
using TakeFusionOp = std::function<Result<>(std::size_t graph, FusionOp op)>;

// Calls take(graph, op) for each operator in the order of the file. Also accepts the text of a ge_proto file,
// as if atc had converted it to JSON. Errors, with the original's texts: not_found -- a required element is
// missing; corrupt -- not JSON, or not of this kind; io -- no space for a list of the operators.
// `name` is the file's name in messages. Slices of operators ("_lxslice0") lose that suffix. Operators are
// parsed one by one; `text` may be a file that is mapped.
Result<> decode_fusion_json(std::string_view text, const std::string& name, const TakeFusionOp& take);

// The names of the graphs in such a file; operators are only checked to be JSON. Errors: as above.
Result<std::vector<std::string>> decode_graph_names(std::string_view text, const std::string& name);

// `name` without the "_lxslice{number}" parts that slicing for FFTS+ adds.
std::string without_slices(std::string_view name);

}  // namespace opdump::format
