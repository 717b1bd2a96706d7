// `opdump run MODEL.onnx ...`: runs ONNX models with ONNX Runtime and dumps what their operators read and
// write.
#pragma once

#include <span>

#include "base/result.h"

namespace opdump::cli {

// True if the first argument of `opdump run` that is not an option names a model (.onnx, or .om, which is
// rejected with a reason) and not a program.
bool names_model(std::span<const char* const> args);

// The verb for models.
Result<int> run_models(std::span<const char* const> args);

}  // namespace opdump::cli
