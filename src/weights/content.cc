#include "weights/content.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "weights/rounding.h"

namespace opdump::weights {
namespace {

using model::DType;

constexpr std::uint64_t kMostRows = 8 << 20;  // whose numbers are kept
constexpr std::size_t kContentChunk = 4096;   // elements
constexpr std::size_t kFewNumbers = 4;

std::uint64_t mix(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
  number = (number ^ number >> 27) * 0x94D049BB133111EB;
  return number ^ number >> 31;
}

// The weight of a place within a row or column.
std::uint64_t place(std::uint64_t index) { return mix(index + 0x9E3779B97F4A7C15) | 1; }

std::uint64_t number_of(float element) {
  if (std::isnan(element)) element = NAN;
  std::uint64_t bits = std::bit_cast<std::uint32_t>(element == 0 ? 0.0F : element);
  bits = (bits + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
  return (bits ^ bits >> 29) * 0x94D049BB133111EB;
}

// Counts different numbers up to kFewNumbers, and which types have all of them.
class Census {
 public:
  void add(const float* numbers, std::size_t count) {
    std::uint32_t lost = 0;  // bits that bfloat16 has not
    bool is_half = is_half_;
    for (std::size_t i = 0; i < count; ++i) lost |= std::bit_cast<std::uint32_t>(numbers[i]) & 0xFFFF;
    is_brain_ = is_brain_ && lost == 0;
    if (is_half) {
      std::copy_n(numbers, count, rounded_.begin());
      round_to(DType::float16, rounded_.data(), count);
      is_half_ = std::equal(numbers, numbers + count, rounded_.begin(),
                            [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); });
    }
    for (std::size_t i = 0; i < count && seen_.size() < kFewNumbers; ++i)
      if (std::ranges::find(seen_, numbers[i]) == seen_.end()) seen_.push_back(numbers[i]);
  }
  bool is_simple() const { return seen_.size() < kFewNumbers; }
  DType precision() const {
    if (is_simple()) return DType::float32;
    return is_brain_ ? DType::bfloat16 : is_half_ ? DType::float16 : DType::float32;
  }

 private:
  std::vector<float> seen_;
  std::array<float, kContentChunk> rounded_{};
  bool is_brain_ = true, is_half_ = true;
};

}  // namespace

Result<WeightContent> content_of(const WeightTensor& tensor, DType rounding) {
  OPDUMP_TRY(const WeightElements elements, WeightElements::open(tensor));
  WeightContent content;
  content.shape = elements.shape();
  const std::uint64_t blocks = content.shape.blocks, rows = content.shape.rows,
                      columns = content.shape.columns;
  const bool keeps_rows = content.shape.all_rows() <= kMostRows;
  const bool keeps_columns = columns > 1 && blocks * columns <= kMostRows;
  if (keeps_rows) content.rows.resize(content.shape.all_rows());
  if (keeps_columns) content.columns.resize(blocks * columns);
  std::vector<std::uint64_t> places(std::min<std::uint64_t>(columns, kMostRows));
  for (std::uint64_t j = 0; j < places.size(); ++j) places[j] = place(j);
  Census census;
  std::array<float, kContentChunk> numbers{};
  const auto take = [&](std::uint64_t row, std::uint64_t from, std::span<const float> part) {
    const std::uint64_t row_place = place(row % rows);
    std::uint64_t* const column = keeps_columns ? content.columns.data() + row / rows * columns : nullptr;
    std::uint64_t hash = 0;
    for (std::uint64_t j = 0; j < part.size(); ++j) {
      const std::uint64_t number = number_of(part[j]);
      content.sum += number;
      hash += number * (from + j < places.size() ? places[from + j] : place(from + j));
      if (column != nullptr) column[from + j] += number * row_place;
    }
    if (keeps_rows) content.rows[row] += hash;
  };
  // As many whole rows at once as there is room for, or a row in parts.
  const std::uint64_t width = std::min<std::uint64_t>(columns, kContentChunk);
  const std::uint64_t together = width == 0 ? 0 : kContentChunk / width;
  for (std::uint64_t row = 0; width > 0 && row < content.shape.all_rows(); row += together)
    for (std::uint64_t from = 0; from < columns; from += width) {
      const std::uint64_t count = std::min(width, columns - from);
      const std::uint64_t here =
          count < columns ? 1 : std::min(together, content.shape.all_rows() - row);  // rows
      elements.read(row * columns + from, here * count, numbers.data());
      if (rounding != DType::undefined) round_to(rounding, numbers.data(), here * count);
      census.add(numbers.data(), here * count);
      for (std::uint64_t i = 0; i < here; ++i)
        take(row + i, from, std::span(numbers).subspan(i * count, count));
    }
  content.is_simple = census.is_simple();
  content.precision = census.precision();
  return content;
}

}  // namespace opdump::weights
