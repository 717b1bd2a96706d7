#include "msaccucmp/judge/element_errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "math/convert.h"

namespace opdump::msaccucmp {
namespace {

using model::DType;
using model::DTypeKind;

constexpr std::size_t kBlock = 4096;
constexpr std::uint64_t kMostSorted =
    8 << 20;  // elements; the largest of more are found without equal ones' order
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The nearest float16, as a double.
double to_half(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double magnitude = std::abs(value);
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const double step = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(magnitude / step) * step;
  return std::copysign(rounded > 65504 ? std::numeric_limits<double>::infinity() : rounded, value);
}

// Which precision NumPy computes in with an array of that type: 0 any, 1 half, 2 single, 3 double.
int rank_of(DType dtype) {
  const model::DTypeInfo& info = model::dtype_info(dtype);
  if (info.kind == DTypeKind::boolean) return 0;
  if (info.kind == DTypeKind::floating)
    return dtype == DType::bfloat16 ? 2 : info.bits == 16 ? 1 : info.bits == 32 ? 2 : 3;
  return info.bits <= 8 ? 1 : info.bits <= 16 ? 2 : 3;
}

// numpy.argpartition's selection: quickselect around the median of three, on positions.
class ErrorSelection {
 public:
  explicit ErrorSelection(std::span<const double> values) : values_(values), order_(values.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  // The positions of the values from rank `rank` on.
  std::vector<std::size_t> select(std::size_t rank, ErrorType type) {
    const std::size_t last = order_.size() - 1;
    if (rank < 3)
      select_smallest(rank);
    else if (rank == last && type == ErrorType::wide)
      std::swap(order_[rank], order_[last_maximum()]);
    else
      narrow(rank);
    return {order_.begin() + static_cast<std::ptrdiff_t>(rank), order_.end()};
  }

 private:
  // What is no number is no error.
  double at(std::size_t i) const {
    const double value = values_[order_[i]];
    return std::isnan(value) ? 0 : value;
  }

  void select_smallest(std::size_t rank) {
    for (std::size_t i = 0; i <= rank; ++i) {
      std::size_t least = i;
      for (std::size_t k = i + 1; k < order_.size(); ++k)
        if (at(k) < at(least)) least = k;
      std::swap(order_[i], order_[least]);
    }
  }

  std::size_t last_maximum() const {
    std::size_t most = 0;
    for (std::size_t k = 1; k < order_.size(); ++k)
      if (!(at(k) < at(most))) most = k;
    return most;
  }

  void swap_if_less(std::size_t a, std::size_t b) {
    if (at(a) < at(b)) std::swap(order_[a], order_[b]);
  }

  // The pivot goes to `low`, the least of the three behind it, the largest to `high`.
  void place_median(std::size_t low, std::size_t high) {
    const std::size_t middle = low + (high - low) / 2;
    swap_if_less(high, middle);
    swap_if_less(high, low);
    swap_if_less(low, middle);
    std::swap(order_[middle], order_[low + 1]);
  }

  void narrow(std::size_t rank) {
    std::size_t low = 0, high = order_.size() - 1;
    while (low + 1 < high) {
      place_median(low, high);
      const double pivot = at(low);
      std::size_t left = low + 1, right = high;
      for (;;) {
        do ++left;
        while (at(left) < pivot);
        do --right;
        while (pivot < at(right));
        if (right < left) break;
        std::swap(order_[left], order_[right]);
      }
      std::swap(order_[low], order_[right]);
      if (right >= rank) high = right - 1;
      if (right <= rank) low = left;
    }
    if (high == low + 1) swap_if_less(high, low);
  }

  std::span<const double> values_;
  std::vector<std::size_t> order_;
};

using RankedError = std::pair<double, std::size_t>;  // an error and where it is

// Python's order of tuples: NaN equals nothing, and is less than nothing.
bool is_less(const RankedError& a, const RankedError& b) {
  return a.first == b.first ? a.second < b.second : a.first < b.first;
}

// Python's sorted(errors, reverse=True). Where NaN is among them that depends on the way they are sorted:
// this is Python's way with up to 63, insertion behind the run that comes first.
void sort_as_python(std::vector<RankedError>& errors) {
  if (std::ranges::none_of(errors, [](const RankedError& error) { return std::isnan(error.first); })) {
    std::ranges::sort(errors, std::greater<>());
    return;
  }
  std::ranges::reverse(errors);
  const auto begin = errors.begin();
  auto sorted = begin + std::min<std::ptrdiff_t>(2, std::ssize(errors));
  const bool falls = sorted != begin && is_less(*(sorted - 1), *begin);
  while (sorted != errors.end() && is_less(*sorted, *(sorted - 1)) == falls) ++sorted;
  if (falls) std::reverse(begin, sorted);
  for (; sorted != errors.end(); ++sorted) {
    auto low = begin;
    for (auto high = sorted; low < high;) {
      const auto middle = low + (high - low) / 2;
      if (is_less(*sorted, *middle))
        high = middle;
      else
        low = middle + 1;
    }
    std::rotate(low, sorted, sorted + 1);
  }
  std::ranges::reverse(errors);
}

// The largest errors of one kind, as they come by.
class TopErrors {
 public:
  TopErrors(std::uint64_t count, std::size_t top_count, ErrorType type)
      : top_count_(top_count), type_(type), keeps_all_(count <= kMostSorted) {
    if (keeps_all_) values_.reserve(count);
  }

  void add(double error) {
    const double value = std::isnan(error) ? 0 : error;
    least_ = seen_ == 0 ? value : std::min(least_, value);
    most_ = seen_ == 0 ? value : std::max(most_, value);
    if (keeps_all_) {
      values_.push_back(error);
    } else {
      if (heap_.size() < top_count_ || (!heap_.empty() && heap_.top() < RankedError(value, seen_)))
        heap_.emplace(value, seen_);
      if (heap_.size() > top_count_) heap_.pop();
    }
    ++seen_;
  }

  double least() const { return seen_ == 0 ? kNan : least_; }
  double most() const { return seen_ == 0 ? kNan : most_; }

  // The largest first, of equal ones the last; NaN where Python leaves it.
  std::vector<std::size_t> positions() {
    std::vector<RankedError> top;
    if (keeps_all_)
      for (const std::size_t position : largest_positions(values_, top_count_, type_))
        top.emplace_back(values_[position], position);
    for (; !heap_.empty(); heap_.pop()) top.push_back(heap_.top());
    sort_as_python(top);
    std::vector<std::size_t> result;
    for (const auto& [value, position] : top) result.push_back(position);
    return result;
  }

 private:
  std::size_t top_count_;
  ErrorType type_;
  bool keeps_all_;
  std::vector<double> values_;
  std::priority_queue<RankedError, std::vector<RankedError>, std::greater<>> heap_;
  std::size_t seen_ = 0;
  double least_ = 0, most_ = 0;
};

}  // namespace

ElementErrors::ElementErrors(const TensorData& mine, const TensorData& golden)
    : mine_(mine), golden_(golden), count_(std::min(mine.count(), golden.count())) {
  are_bool_ = mine.dtype == DType::boolean && golden.dtype == DType::boolean;
  const int rank = std::max(rank_of(mine.dtype), rank_of(golden.dtype));
  const bool is_float = model::is_floating(mine.dtype) || model::is_floating(golden.dtype);
  if (is_float && rank == 1) precision_ = Rounding::half;
  if (is_float && rank == 2) precision_ = Rounding::single;
  const bool is_half = precision_ == Rounding::half;
  relative_type_ = is_half ? ErrorType::narrow : ErrorType::wide;
  absolute_type_ = is_half || !is_float ? ErrorType::narrow : ErrorType::wide;
}

void ElementErrors::read(std::uint64_t first, std::span<ElementError> out) const {
  std::array<double, kBlock> mine, golden;
  const auto rounded = [&](double value) {
    if (precision_ == Rounding::both_double) return value;
    return precision_ == Rounding::half ? to_half(value) : static_cast<double>(static_cast<float>(value));
  };
  const auto address = [](const TensorData& data, std::uint64_t at) {
    return data.bytes + at * (model::dtype_info(data.dtype).bits / 8);
  };
  for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
    const std::size_t n = std::min(kBlock, out.size() - begin);
    math::convert_elements(mine_.dtype, address(mine_, first + begin), mine.data(), n);
    math::convert_elements(golden_.dtype, address(golden_, first + begin), golden.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      ElementError& error = out[begin + i];
      error = {mine[i], golden[i], kNan, kNan};
      if (are_bool_) continue;
      const double absolute = std::abs(rounded(mine[i] - golden[i]));
      const double relative = rounded(absolute / std::abs(golden[i]));
      if (!std::isinf(absolute)) error.absolute = absolute;
      if (!std::isinf(relative)) error.relative = relative;
    }
  }
}

std::vector<std::size_t> largest_positions(std::span<const double> values, std::size_t count,
                                           ErrorType type) {
  if (values.empty()) return {};
  // Python's slice [-0:] is everything.
  const std::size_t rank = count == 0 ? 0 : values.size() - std::min(count, values.size());
  return ErrorSelection(values).select(rank, type);
}

ErrorSummary summarise(const ElementErrors& errors, std::size_t top_count) {
  const std::uint64_t count = errors.count();
  if (count < top_count) top_count = count == 0 ? 0 : static_cast<std::size_t>(count - 1);
  ErrorSummary summary;
  if (errors.are_bool()) {
    summary.least_absolute = summary.most_absolute = summary.least_relative = summary.most_relative = kNan;
    summary.top_absolute.resize(top_count);
    std::iota(summary.top_absolute.begin(), summary.top_absolute.end(), std::size_t{0});
    summary.top_relative = summary.top_absolute;
    return summary;
  }
  TopErrors absolute(count, top_count, errors.absolute_type()),
      relative(count, top_count, errors.relative_type());
  std::vector<ElementError> block(kBlock);
  for (std::uint64_t first = 0; first < count; first += kBlock) {
    const std::span part(block.data(),
                         static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count - first)));
    errors.read(first, part);
    for (const ElementError& error : part) {
      absolute.add(error.absolute);
      relative.add(error.relative);
    }
  }
  summary.least_absolute = absolute.least();
  summary.most_absolute = absolute.most();
  summary.least_relative = relative.least();
  summary.most_relative = relative.most();
  summary.top_absolute = absolute.positions();
  summary.top_relative = relative.positions();
  return summary;
}

}  // namespace opdump::msaccucmp
