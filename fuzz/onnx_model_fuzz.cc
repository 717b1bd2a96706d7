// Any bytes as an ONNX model. What is accepted is in an order of execution, a part of it is a model again,
// and the parts that it is cut into are all of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "failure.h"
#include "fused.h"
#include "initializers.h"
#include "model_file.h"
#include "parts.h"
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

void check_parts(const ModelFile& model) {
  std::map<std::string_view, std::uint64_t> sizes;
  for (const Node& node : model.nodes)
    for (const std::string_view name : node.outputs) sizes[name] = 1 + name.size();
  const auto all = [](std::string_view) { return true; };
  const auto some = [](std::string_view name) { return name.size() % 4 != 0; };
  std::size_t end = 0;
  for (const ModelPart& part : cut_into_parts(model, 8, sizes, all, some)) {
    if (part.first != end || part.end <= part.first) std::abort();
    end = part.end;
    std::vector<Feed> feeds;
    for (const std::string_view name : part.feeds) feeds.push_back({name, 1});
    const std::string bytes = encode_part(model, nodes_of(model, part), part.values, &feeds);
    if (read_model(bytes).nodes.empty()) std::abort();
  }
  if (end != model.nodes.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ModelFile model = read_model({reinterpret_cast<const char*>(data), size});
    check_order(model);
    check_part(model);
    check_parts(model);
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
