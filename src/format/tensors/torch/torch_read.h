// The file of torch.save, read: a ZIP archive with a pickle, and the elements of each storage in a member of
// its own (torch_file.h writes one). Read are tensors, and those in dicts, lists and parameters: state_dicts
// and checkpoints. Nothing of the file is executed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "format/tensors/dump_data.h"
#include "model/dtype.h"
#include "model/shape.h"

namespace opdump::format {

struct StoredTorchTensor {
  std::string name;  // the keys that lead to it: "model.conv1.weight"; empty if the file is one tensor
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  // The data reach from the first of its elements to the last: row by row, or by `strides` (in elements)
  // unless they are empty.
  Extent data;
  model::Shape strides;
  std::string fault;  // not empty: why it cannot be read; the others then hold what is known
};

// The member of the archive that holds the pickle is the first one; so many bytes of the file show it.
inline constexpr std::size_t kTorchStartBytes = 320;
// True for the first bytes of such a file.
bool is_torch_file(std::span<const std::byte> start);

// Calls take(tensor) for each tensor in the order of the pickle. Every Extent without a fault lies in `file`
// and is what dtype, shape and strides need. Errors: as list_zip and decode_pickle; unsupported -- big-endian
// elements, the format of releases before 1.6; limit -- tensors nested deeper than 64 levels, or more than a
// million.
using TakeTorchTensor = std::function<void(StoredTorchTensor tensor)>;
Result<> list_torch_tensors(std::span<const std::byte> file, const TakeTorchTensor& take);

}  // namespace opdump::format
