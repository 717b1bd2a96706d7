// Parses the tokens of an .ir file (mindspore.md 5.5): lists in brackets, literals, types. For
// graph_ir_read.cc.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/graph.h"

namespace opdump::format {

// Removes a list in brackets of any kind from the front of `text`: "(%0, (1, 2), "a,b") rest" gives three
// pieces. Nothing, and `text` as it was, if there is none or it does not end.
std::optional<std::vector<std::string_view>> take_list(std::string_view& text);

// "I64(30)", "Bool(1)", "F32(0.5)", "\"text\"", "None", "(a, b)", "[a, b]" without a name; anything else is
// text as it stands there. Lists nested more than 32 deep are text, too.
model::Argument parse_literal(std::string_view text, int depth = 0);

// What a type in angle brackets says: "<Tensor[Float32], (2, 3)>" holds one, "<Tuple[Tensor[Int64]*2],
// TupleShape((2), (3))>" two; release 1 writes "<Tensor[Float32]x[const vector][2, 3]>". Nothing in the place
// of what is no tensor.
std::vector<std::optional<model::TensorType>> parse_types(std::string_view text);

}  // namespace opdump::format
