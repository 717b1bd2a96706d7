// Which node of a graph each operator of a dump is. Files and graphs of MindSpore number operators of one
// kind on their own: AddN-op0 and op1 of the files can be AddN-op7 and op8 of the .ir, MatMul-op3 and op4 can
// be MatMul-op3 and op2. What both have is the graph, the scope and the type, and the order in which they
// ran:
//
//   files of graph 14, by time         MatMul-op4 (6,8)   MatMul-op3 (2,8)
//   execution order of graph 14        MatMul-op2 (6,8)   MatMul-op3 (2,8)
//
// So the k-th to run is the k-th of the order, as far as it has as many elements of the same types.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/read/runs.h"
#include "model/graph.h"

namespace opdump::dump {

// The position of the number of "Default/Add-op12", or npos.
std::size_t find_operator_number(std::string_view name);

// The scope and type of an operator, as file names spell them: its name up to the number.
std::string kind_name(std::string_view name);

// A node, and its place in the order of execution, UINT32_MAX if that is unknown.
struct OrderedNode {
  const model::Node* node = nullptr;
  std::uint32_t place = UINT32_MAX;
};

// The operators of a dump by their names in files.
using NodesByName = std::map<std::string, const model::Node*, std::less<>>;

// `executions` are of the operators of one graph, scope and type, one each, of one step; `nodes` those that
// the graph has of them. Empty if their number differs, as where a dump leaves operators out.
NodesByName match_nodes(const Runs& runs, std::vector<std::uint32_t> executions,
                        std::vector<OrderedNode> nodes);

}  // namespace opdump::dump
