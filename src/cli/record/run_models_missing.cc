// In place of run_models.cc where the adapter of ONNX Runtime is not built.
#include "cli/record/run_models.h"

namespace opdump::cli {

bool names_model(std::span<const char* const>) { return false; }

Result<int> run_models(std::span<const char* const>) {
  return Error(Code::unsupported, "built without ONNX Runtime (OPDUMP_ONNXRUNTIME=OFF)");
}

}  // namespace opdump::cli
