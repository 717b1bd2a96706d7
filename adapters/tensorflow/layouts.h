// What the four dimensions of an operator's tensors mean, as CANN's parser of TensorFlow's graphs has it:
// NHWC, unless the operator says otherwise, and HWCN of a convolution's filter. What an optimizer reads and
// writes may be filters or not: ND.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tensorflow/core/framework/node_def.pb.h>
#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

class Layouts {
 public:
  Layouts(std::string_view type, const tensorflow::NodeDef& node, opdump_phase phase);

  // Values of opdump_tensor.format for operands of four dimensions.
  std::uint32_t input(std::size_t index) const { return index == filter_input_ ? kFilter : data_; }
  std::uint32_t output(std::size_t) const { return returns_filter_ ? kFilter : data_; }

 private:
  static constexpr std::uint32_t kNchw = 1, kNhwc = 2, kNd = 3, kFilter = 17;  // HWCN
  std::uint32_t data_ = kNhwc;
  std::size_t filter_input_ = SIZE_MAX;
  bool returns_filter_ = false;
};

}  // namespace opdump::tensorflow_adapter
