// Any bytes as an ONNX model. What is accepted is in an order of execution, and a part of it is a model
// again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "failure.h"
#include "fused.h"
#include "initializers.h"
#include "model_file.h"
#include "passes.h"
#include "rewrite.h"

namespace {

using namespace opdump::onnx;

void check_order(const ModelFile& model) {
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string_view name : model.nodes[i].inputs)
      if (const auto producer = model.producers.find(name);
          producer != model.producers.end() && producer->second >= i)
        std::abort();
}

void check_part(const ModelFile& model) {
  const std::vector<std::string_view> outputs{
      model.nodes.front().outputs.empty() ? "" : model.nodes.front().outputs.front()};
  if (outputs.front().empty()) return;
  const std::string part = encode_part(model, find_ancestors(model, model.nodes.size(), outputs), outputs);
  const ModelFile again = read_model(part);
  if (again.nodes.empty() || again.outputs.size() != 1) std::abort();
  const std::string more = std::string(model.bytes) + encode_more_outputs(outputs);
  if (more.size() > model.bytes.size() + max_more_outputs_bytes(model)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ModelFile model = read_model({reinterpret_cast<const char*>(data), size});
    check_order(model);
    check_part(model);
    (void)find_original_names(model, model);
    Initializers initializers(model, {});
    for (std::size_t i = 0; i < model.initializers.size(); ++i) try {
        (void)initializers.find(i);
      } catch (const Failure&) {
      }
  } catch (const Failure&) {
  }
  return 0;
}
