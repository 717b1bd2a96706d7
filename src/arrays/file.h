// Arrays as files of their own: .npy, the bare elements, or a file of torch.save. Each file is new, readable
// by its owner only, and gone again if it could not be written whole.
#pragma once

#include <filesystem>

#include "arrays/pieces.h"
#include "base/file_copy.h"
#include "base/result.h"

namespace opdump::arrays {

// Appends the bytes of `array` to `fd`. Errors: io; as ArrayPieces::next.
Result<> write_pieces(Array& array, const Fd& fd, const std::filesystem::path& path);

// With the header that numpy.save writes. In column order (`is_fortran`) the pieces are those of the array
// turned round, as NumPy saves what lies so in memory.
Result<> write_npy(Array& array, bool is_fortran, const std::filesystem::path& path);
Result<> write_elements(Array& array, const std::filesystem::path& path);
// Unsigned integers of 16 and 32 bits become signed ones of twice the size: older releases of PyTorch have
// no such types. Errors: unsupported -- uint64.
Result<> write_torch(Array& array, const std::filesystem::path& path);

}  // namespace opdump::arrays
