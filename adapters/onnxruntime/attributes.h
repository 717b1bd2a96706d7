// The attributes of an operator of an ONNX model as arguments for the recorder, subgraphs among them.
// Tensors of finite numbers, types, very long lists and what is nested too deeply are left out.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opdump/opdump.h"

namespace opdump::onnx {

class Attributes {
 public:
  // `node` is a NodeProto of a model that read_model() accepted. What is broken in it is left out.
  // `function`: what it executes, see ModelFile::function_of.
  Attributes(std::string_view node, std::string_view function);
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  // Valid as long as this object.
  std::span<const opdump_argument> arguments() const { return arguments_; }

 private:
  using List = std::vector<opdump_argument>;
  void read_attribute(std::string_view attribute, List& to);
  opdump_argument read_graph(std::string_view graph);
  opdump_argument read_node(std::string_view node, std::size_t number);
  opdump_argument make(opdump_argument_kind kind) const;
  opdump_argument text(std::string_view text);
  opdump_argument list(List items, opdump_argument_kind kind = OPDUMP_ARGUMENT_LIST);
  opdump_argument integer(std::int64_t value) const;
  opdump_argument real(double value) const;

  std::deque<std::string> texts_;  // that arguments point to
  std::deque<List> lists_;
  List arguments_;
  int depth_ = 0;  // of the subgraph that is read
};

}  // namespace opdump::onnx
