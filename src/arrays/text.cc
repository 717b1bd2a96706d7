#include "arrays/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/file/file_replacement.h"
#include "base/worker_pool.h"
#include "math/convert.h"

namespace opdump::arrays {
namespace {

using model::DType;

constexpr int kDigits = 18;
constexpr std::size_t kTaskNumbers = 1 << 16;  // that a thread makes lines of at a time

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific, kDigits)
                       .ptr;
  text.append(buffer.data(), end);
}

void append_complex(std::string& text, double real, double imaginary) {
  text += " (";
  append_number(text, real);
  if (std::isnan(imaginary) || !std::signbit(imaginary)) text += '+';
  append_number(text, imaginary);
  text += "j)\n";
}

// Parts of complex numbers are elements of half the size.
DType part_of(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  return dtype == DType::complex128 ? DType::float64 : dtype;
}

// The lines of `count` numbers, or parts of complex ones, at `in`.
void make_lines(DType part, bool is_complex, const std::byte* in, std::size_t count, std::string& text) {
  std::vector<double> values(count);
  math::convert_elements(part, in, values.data(), count);
  text.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (is_complex) {
      append_complex(text, values[i], values[i + 1]);
      ++i;
      continue;
    }
    append_number(text, values[i]);
    text += '\n';
  }
}

}  // namespace

std::uint64_t text_bytes(const Array& array) {
  constexpr std::uint64_t kLine = 25, kComplexLine = 54;
  const std::uint64_t line = part_of(array.dtype) == array.dtype ? kLine : kComplexLine;
  return model::element_count(array.shape).value_or(0) * line;
}

Result<> write_text(Array& array, const std::filesystem::path& path, unsigned threads) {
  const DType dtype = part_of(array.dtype);
  const std::size_t size = model::dtype_info(dtype).bits / 8;
  if (size == 0) return Error(Code::unsupported, path.string() + ": elements of an unknown dtype");
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, 0600));
  std::vector<std::string> texts;
  for (;;) {
    OPDUMP_TRY(const auto piece, array.pieces->next());
    if (piece.empty()) return file.finish();
    const std::size_t count = piece.size() / size;
    texts.resize((count + kTaskNumbers - 1) / kTaskNumbers);
    parallel_for(texts.size(), threads, [&](std::size_t i) {
      const std::size_t first = i * kTaskNumbers;
      make_lines(dtype, dtype != array.dtype, piece.data() + first * size,
                 std::min(kTaskNumbers, count - first), texts[i]);
    });
    for (const std::string& text : texts) OPDUMP_CHECK_OK(file.append(text));
    array.note_written(piece.size());
  }
}

}  // namespace opdump::arrays
