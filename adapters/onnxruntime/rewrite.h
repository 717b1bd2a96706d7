// Modified copies of a model: with more outputs, or with fewer operators. All other fields are kept, also
// unknown ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_file.h"

namespace opdump::onnx {

// Bytes that, put behind those of a model, make `names` outputs of it too: a second `graph` field, which
// parsers merge into the first. Names that are outputs already must not be among them.
std::string encode_more_outputs(std::span<const std::string_view> names);

// No fewer bytes than encode_more_outputs() gives for any values of `model`.
std::size_t max_more_outputs_bytes(const ModelFile& model);

// An input of a part: one of the model, or a value that another part makes.
struct Feed {
  std::string_view name;
  int element_type = 0;
};

// `model` with the operators `nodes` only (indices into model.nodes), the constants that they need, the
// inputs `feeds` and the outputs `outputs`. Without `feeds`: with all inputs of the model.
std::string encode_part(const ModelFile& model, std::span<const std::size_t> nodes,
                        std::span<const std::string_view> outputs, const std::vector<Feed>* feeds = nullptr);

}  // namespace opdump::onnx
