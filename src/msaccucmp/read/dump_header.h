// The header of a dump file that is no .npy, and what the original says of one that it cannot read (cann.md
// 3.2, 3.3).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/tensors/dump_data.h"
#include "model/shape.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {

// What the original says of a file of more than 1 GiB before it reads it, or nothing.
std::optional<std::string> large_file_remark(const std::string& path, std::uint64_t bytes);

// The dimensions of a message as a shape; nothing if one is larger than any file.
std::optional<model::Shape> shape_of_dims(const std::vector<std::uint64_t>& dims);

// The dtype of elements whose message says `number`: the original takes bytes for what has none.
model::DType stored_dtype(std::int32_t number);

// What the original says of a number that it has no type for.
std::string unsupported_dtype(std::int32_t number);

struct DumpHeader {
  format::DumpData data;
  bool is_nano = false;  // of a nano device
};

// Decodes the header of `file`, which lies at `path`. A file of up to 8 bytes, of which that is said, and an
// empty message are headers of nothing. With `is_strict` a length beyond the file is an error although
// decoding does not need it. Failures: invalid_dump, nano, size_mismatch; the reasons are not for the table.
Outcome<DumpHeader> decode_header(const std::string& path, std::span<const std::byte> file, bool is_strict,
                                  Log& log);

}  // namespace opdump::msaccucmp
