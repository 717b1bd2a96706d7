// One tensor of a dump file in another layout, as msaccucmp's convert makes it: converted, and cut to its
// original shape (cann.md 5.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "arrays/pieces.h"
#include "model/format.h"
#include "msaccucmp/log.h"
#include "msaccucmp/plugins/python_plugin.h"
#include "msaccucmp/read/dump.h"

namespace opdump::msaccucmp {

struct FormatOptions {
  model::Format to = model::Format::nd;
  std::optional<model::Shape> shape;  // -s
  const FormatPlugins* plugins = nullptr;
  unsigned threads = 1;        // for one tensor
  bool may_be_fortran = true;  // false: the elements are wanted row by row
};

struct ChangedTensor {
  Status status = Status::ok;
  arrays::Array array;
  bool is_fortran = false;  // as NumPy would save it: see write_npy
  std::int32_t format = 0;  // what the array is in, as the original writes it in file names
  std::string reason = {};  // what Python raised where the original goes on with the next tensor; often empty
};

// `tensor` of `file`, called `name` ("output:0"). Says on the log what the original says.
ChangedTensor change_format(const DumpFile& file, const format::DumpTensor& tensor,
                            const FormatOptions& options, std::string_view name, Log& log);

}  // namespace opdump::msaccucmp
