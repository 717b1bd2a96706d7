// Which operators of a model file an operator of the optimized graph stands for. The optimizer keeps the
// names of the values that it does not remove: what lies in the file between the values an operator reads and
// those it writes has become this operator.
#pragma once

#include <string>
#include <vector>

#include "model_file.h"

namespace opdump::onnx {

// For each operator of `optimized`, the names of those of `original` that it stands for, in their order.
// Empty where no value and no name tells (an operator that the optimizer put in).
std::vector<std::vector<std::string>> find_original_names(const ModelFile& original,
                                                          const ModelFile& optimized);

}  // namespace opdump::onnx
