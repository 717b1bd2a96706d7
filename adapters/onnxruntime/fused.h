// Maps operators of the optimized graph to the operators of the model file that they replace. The optimizer
// keeps the names of the values that it does not remove: the operators in the file between the values that
// an optimized operator reads and those it writes have become this operator.
#pragma once

#include <string>
#include <vector>

#include "model_file.h"

namespace opdump::onnx {

// For each operator of `optimized`, the names of those of `original` that it stands for, in their order.
// Empty if neither values nor names show it (an operator added by the optimizer).
std::vector<std::vector<std::string>> find_original_names(const ModelFile& original,
                                                          const ModelFile& optimized);

}  // namespace opdump::onnx
