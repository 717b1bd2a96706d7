#include "layouts.h"

namespace opdump::tensorflow_adapter {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

// "_FusedConv2D", "DepthwiseConv2dNativeBackpropFilter"
Layouts::Layouts(std::string_view type, const tensorflow::NodeDef& node, opdump_phase phase) {
  if (phase == OPDUMP_OPTIMIZER) {
    data_ = kNd;
    return;
  }
  const auto format = node.attr().find("data_format");
  if (format != node.attr().end() && format->second.s() == "NCHW") data_ = kNchw;
  if (type.find("Conv2D") == std::string_view::npos && type.find("Conv2dNative") == std::string_view::npos)
    return;
  if (ends_with(type, "BackpropFilter"))
    returns_filter_ = true;
  else
    filter_input_ = 1;
}

}  // namespace opdump::tensorflow_adapter
