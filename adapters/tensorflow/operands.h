// Tensors of TensorFlow as operands for the recorder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <tensorflow/core/framework/tensor.h>
#include "opdump/opdump.h"

namespace opdump::tensorflow_adapter {

// The memory block that holds the elements of a tensor; null if there is none.
const void* base_of(const tensorflow::Tensor& tensor);

// A copy of `text` that lives as long as the process.
const char* intern(const std::string& text);

class Operands {
 public:
  // Refers to the memory of `tensor`, and not to the tensor: another reference would make operators allocate
  // where they reuse an input. `format` is opdump_tensor.format, for a tensor of four dimensions.
  void add(const tensorflow::Tensor& tensor, std::size_t index, std::uint32_t format,
           const char* undumped = nullptr);
  // The same, of what the operator has written.
  void add_written(const tensorflow::Tensor& tensor, std::size_t index, std::uint32_t format);

  const opdump_tensor* data() const { return operands_.data(); }
  std::size_t size() const { return operands_.size(); }

 private:
  std::vector<opdump_tensor> operands_;
  std::deque<std::vector<std::int64_t>> shapes_;
};

}  // namespace opdump::tensorflow_adapter
