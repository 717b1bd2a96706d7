// The header of a dump file that is no .npy, and what the original says of one that it cannot read (cann.md
// 3.2, 3.3).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "format/tensors/dump_data.h"
#include "msaccucmp/failure.h"

namespace opdump::msaccucmp {

// What the original says of a file of more than 1 GiB before it reads it, or nothing.
std::optional<std::string> large_file_remark(const std::string& path, std::uint64_t bytes);

struct DumpHeader {
  format::DumpData data;
  bool is_nano = false;  // of a nano device
};

// Decodes the header of `file`, which lies at `path`. A file of up to 8 bytes, of which that is said, and an
// empty message are headers of nothing. With `is_strict` a length beyond the file is an error although
// decoding does not need it. Failures: invalid_dump, nano, size_mismatch; the reasons are not for the table.
Outcome<DumpHeader> decode_header(const std::string& path, std::span<const std::byte> file, bool is_strict,
                                  Journal& journal);

}  // namespace opdump::msaccucmp
