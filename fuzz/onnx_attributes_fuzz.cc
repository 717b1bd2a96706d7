// Any bytes as an operator of an ONNX model, whose attributes cross the door to the recorder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "abi/arguments.h"
#include "attributes.h"

constexpr const char* kFunction = "onnx::Any.13";

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const opdump::onnx::Attributes attributes({reinterpret_cast<const char*>(data), size}, kFunction);
  const auto given = attributes.arguments();
  const auto arguments = opdump::abi::to_arguments(given.data(), given.size());
  const auto bodies = opdump::abi::to_bodies(given.data(), given.size());
  const bool has_function = opdump::abi::to_function(given.data(), given.size()) == kFunction;
  if (!has_function || 1 + arguments.size() + bodies.size() != given.size()) std::abort();
  for (const auto& body : bodies)
    for (const auto& node : body.graph.nodes)
      for (const auto& input : node.inputs)
        if (input.source.kind == opdump::model::Source::Kind::node &&
            input.source.index >= body.graph.nodes.size())
          std::abort();
  return 0;
}
