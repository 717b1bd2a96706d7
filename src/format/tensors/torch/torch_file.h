// The file of torch.save for one tensor, which torch.load reads: a ZIP archive with a pickle that names the
// type, shape and strides, and the elements in a file of their own at a multiple of 64 bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "format/tensors/zip_writer.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

// The stored properties of a tensor, and its source type.
struct TorchTensor {
  model::DType from = model::DType::undefined;  // the elements that are added
  model::DType dtype =
      model::DType::undefined;  // the elements in the file: `from`, or a larger signed integer
  std::string pickle;
  std::uint64_t bytes = 0;
};

// Errors: unsupported -- PyTorch has no type for it (uint64, packed types).
Result<TorchTensor> describe_torch_tensor(model::DType dtype, const model::Shape& shape);

class TorchFileWriter {
 public:
  TorchFileWriter(const Fd& fd, std::filesystem::path path) : zip_(fd, std::move(path)) {}
  Result<> begin(const TorchTensor& tensor);
  // Whole elements of tensor.from, row by row.
  Result<> add(std::span<const std::byte> elements);
  Result<> end();

 private:
  ZipWriter zip_;
  model::DType from_ = model::DType::undefined, dtype_ = model::DType::undefined;
};

}  // namespace opdump::format
