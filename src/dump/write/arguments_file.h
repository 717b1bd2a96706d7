// The file of an operator's arguments (save_kernel_args), mindspore.md 2.6: a JSON object of texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/graph.h"
#include "model/operator.h"

namespace opdump::dump {

// "MatMul.Default_fc-Dense_MatMul-op0.json"
std::string arguments_file_name(const model::Operator& op);

// Whether an operator that is numbered may have a file of this name.
bool is_arguments_file_name(std::string_view name);

// Every argument that is not a tensor, as text: "True", "1", "0.1", "[1 2]", "None". Keys sorted, indented by
// four, no line feed at the end; "null" if there are none.
std::string encode_arguments(std::span<const model::Argument> arguments);

}  // namespace opdump::dump
