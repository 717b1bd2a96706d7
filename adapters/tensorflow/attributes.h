// The attributes of an operator as arguments for the recorder. Functions, tensors and what only the runtime
// needs are left out.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include <tensorflow/core/framework/attr_value.pb.h>
#include <tensorflow/core/framework/node_def.pb.h>
#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

class Attributes {
 public:
  explicit Attributes(const tensorflow::NodeDef& node);
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const opdump_argument* data() const { return arguments_.data(); }
  std::size_t size() const { return arguments_.size(); }

 private:
  using List = std::vector<opdump_argument>;
  bool read(const tensorflow::AttrValue& value, opdump_argument& to);
  opdump_argument text(std::string value);
  opdump_argument list(List items);
  opdump_argument shape(const tensorflow::TensorShapeProto& shape);
  opdump_argument items(const tensorflow::AttrValue::ListValue& values);

  std::deque<std::string> texts_;  // that arguments point to
  std::deque<List> lists_;
  List arguments_;
};

}  // namespace opdump::tensorflow_adapter
