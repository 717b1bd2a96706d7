// One tensor of a dump file as the original's convert makes it: an array of a NumPy type, brought to another
// layout and cut to its original shape (cann.md 5.1).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/msaccucmp.h"
#include "format/dump_data.h"

namespace opdump::cli {

struct Array {
  model::DType dtype = model::DType::undefined;
  model::Shape shape;
  std::vector<std::byte> data;
};

// The elements as NumPy has them: float32 for bfloat16, float64 for floats of 8 bits and fewer, a byte for
// each packed integer, which lengthens a shape that counts bytes; int8 for a dtype that is not told. Errors:
// as read_dump_array.
Result<Array> read_array(std::span<const std::byte> file, const format::DumpTensor& tensor);

// "(4)", "(2, 3)": a shape in the original's messages.
std::string shape_text(const model::Shape& shape);

// `array`, an output or input called `name` ("output:0") of the file `path`, in the format that options ask
// for. Says on the log what the original says. Errors: unsupported -- there is no such conversion; what has
// been said.
Result<Array> change_format(Array array, const format::DumpTensor& tensor, const ConvertOptions& options,
                            std::string_view name, const std::string& path);

}  // namespace opdump::cli
