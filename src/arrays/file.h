// Writes arrays to files: .npy, raw elements, or a file for torch.load. Each file is new and readable by its
// owner only. It is removed if writing fails.
#pragma once

#include <filesystem>

#include "arrays/pieces.h"
#include "base/file/file_copy.h"
#include "base/result.h"

namespace opdump::arrays {

// Appends the bytes of `array` to `fd`. Errors: io; as ArrayPieces::next.
Result<> write_pieces(Array& array, const Fd& fd, const std::filesystem::path& path);

// Writes the header of numpy.save before the elements. In column order (`is_fortran`) the pieces are those of
// the transposed array, as NumPy saves an array that is in column order in memory.
Result<> write_npy(Array& array, bool is_fortran, const std::filesystem::path& path);
Result<> write_elements(Array& array, const std::filesystem::path& path);
// Unsigned integers of 16 and 32 bits become signed ones of twice the size, because older releases of PyTorch
// lack these types. Errors: unsupported -- uint64.
Result<> write_torch(Array& array, const std::filesystem::path& path);

}  // namespace opdump::arrays
