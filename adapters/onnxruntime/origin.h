// Where in a PyTorch program an operator of a model comes from, as torch.onnx.export(dynamo=True) writes it
// into the metadata of a node. Its names ("node_Conv_291") do not say it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace opdump::onnx {

struct Origin {
  std::string module;               // "layer1.0.conv1"; empty if it is in none or the model does not say
  std::vector<std::string> frames;  // "file:line:function", innermost first; without torch's own
  std::string source_file;  // of the innermost frame outside installed packages, else of the innermost one
  int source_line = 0;
};

// Of a NodeProto that has been read before. Nothing of metadata that is broken: the model runs in spite of
// it.
Origin find_origin(std::string_view node);

}  // namespace opdump::onnx
