// ms_output_trace_code_graph_{id}.ir: a graph as text for people, mindspore.md 5.5; page:
// docs/formats/graphs.md. Each operator takes some lines,
//
//   %0(CNode_1) = MatMul(%para1_x, %para2_fc.weight, Bool(0), Bool(0))
//       : (<Tensor[Float32], (2, 3)>, ...) -> (<Tensor[Float32], (2, 3)>)
//       # Fullname with scope: (Default/fc-Dense/MatMul-op0)
//       # In file demo.py:9, 15~31/        return self.matmul(x, self.w)/
//
// in order of execution, and the line of the program that made it is among them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/graphs/graph_rows.h"
#include "model/graph.h"

namespace opdump::format {

inline constexpr std::uint64_t kMaxGraphIrBytes = std::uint64_t{1} << 30;

// The file of a graph. Parameters of role constant and tensors of unknown source are literals. `read_line`
// fetches the program's text.
std::string encode_graph_ir(const model::Graph& graph, const LineReader& read_line);

// An operator's type as files of this kind may spell it, [A-Za-z_][A-Za-z0-9_]*: other characters become '_'.
std::string spell_operator_type(std::string_view type);

// The graphs of a file, its entry first: ours, MindSpore's of any version, sub-graphs too. Nodes
// TupleGetItem are removed: their readers read the output itself. Return is not a node. Lines that cannot be
// parsed are left out. Errors: limit (1 GiB), corrupt (not an .ir).
Result<std::vector<model::Graph>> decode_graph_ir(std::string_view text);

}  // namespace opdump::format
