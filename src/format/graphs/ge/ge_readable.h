// ge_readable_*.txt: a graph of CANN's graph engine for people, in the manner of torch.fx. A line for each
// operator, and one for each output of those that have several:
//
//   graph("net"):
//     %x : [#users=1] = Node[type=Data] (attrs = {index: 0})
//     %pool : [#users=2] = Node[type=MaxPool] (inputs = (self=%x), attrs = {kernel_size: {2, 2}})
//     %ret : [#users=1] = get_element[node=%pool](0)
//     %ret_1 : [#users=0] = get_element[node=%pool](1)
//
//     return (%ret)
//
// "users" is the number of outputs of an operator, or of readers of an output. Inputs without a name are
// _input_0, _input_1, ...; empty attributes and those that begin with '_' are omitted. A tensor with more
// than six elements shows the first and last three.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "format/graphs/ge/ge_ops.h"

namespace opdump::format {

class GeReadable {
 public:
  // Borrows `graph`.
  explicit GeReadable(const GeOps& graph);

  std::string begin() const;
  // The lines of the next operator; none for a NetOutput.
  std::string print(const GeOp& op);
  std::string end() const;

 private:
  std::string refer(const std::string& input) const;
  std::string print_inputs(const GeOp& op) const;

  const GeOps& graph_;
  std::map<std::string_view, std::size_t> readers_;        // of "pool:0"
  std::map<std::string, std::string, std::less<>> items_;  // "pool:0" -> "ret", where operators have several
};

}  // namespace opdump::format
