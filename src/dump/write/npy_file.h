// Writes a tensor into an open .npy file: the header, then the elements row by row. bfloat16 is widened to
// float32, int4 to int8 and uint1 to uint8, which is what .npy can hold (mindspore.md 4).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"
#include "model/tensor_view.h"

namespace opdump::dump {

// The header for `view` as it will be stored. Errors: unsupported (float8), limit.
Result<std::string> npy_header_for(const model::TensorView& view);

// The bytes of the elements as they will be stored.
std::uint64_t stored_bytes(const model::TensorView& view);

// Writes `header` and the elements at the start of the new file `fd`. Any strides. Row-major elements go to
// the system straight from the caller's memory; others pass through a buffer of at most 1 MiB. Errors: io.
Result<> write_npy(const Fd& fd, std::string_view header, const model::TensorView& view,
                   const std::filesystem::path& path);

}  // namespace opdump::dump
