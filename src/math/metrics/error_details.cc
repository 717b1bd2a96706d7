#include "math/metrics/error_details.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/file/resident.h"
#include "math/lane_reader.h"
#include "math/stats/stats.h"

namespace opdump::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kWorst = 20;
constexpr std::array kShares{0.5, 0.9, 0.99, 0.999, 0.9999};

// Counts positive numbers by their exponent and the first three bits of their mantissa.
class OctaveCounts {
 public:
  OctaveCounts() : counts_(kBuckets) {}

  void add(double value) {
    ++total_;
    largest_ = std::max(largest_, value);
    ++counts_[bucket_of(value)];
  }

  std::vector<ErrorQuantile> quantiles() const {
    std::vector<ErrorQuantile> found;
    std::uint64_t seen = 0;
    std::size_t bucket = 0;
    for (const double share : kShares) {
      const double wanted = share * static_cast<double>(total_);
      for (; bucket < kBuckets && static_cast<double>(seen) < wanted; ++bucket) seen += counts_[bucket];
      found.push_back({share, bucket == 0 ? 0 : std::min(largest_, upper_end(bucket - 1))});
    }
    found.push_back({1, largest_});
    return found;
  }

 private:
  static constexpr int kShift = 49;  // 52 bits of mantissa, of which 3 count
  static constexpr std::size_t kBuckets = (std::uint64_t{0x7ff} << 3) + 8;
  static std::size_t bucket_of(double value) { return std::bit_cast<std::uint64_t>(value) >> kShift; }
  static double upper_end(std::size_t bucket) {
    return bucket == 0 ? 0 : std::bit_cast<double>((static_cast<std::uint64_t>(bucket) + 1) << kShift);
  }
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  double largest_ = 0;
};

struct ScaledError {
  double absolute = 0, scaled = 0;
};

ScaledError scaled_error(double a, double g, Tolerance tolerance) {
  if (a == g || (std::isnan(a) && std::isnan(g))) return {};
  if (!std::isfinite(a) || !std::isfinite(g)) return {kInf, kInf};
  const double absolute = std::abs(a - g), allowed = tolerance.atol + tolerance.rtol * std::abs(g);
  return {absolute, allowed > 0 ? absolute / allowed : kInf};
}

// The elements that are furthest off; of equal ones the first.
class WorstElements {
 public:
  void add(std::uint64_t index, double golden, double actual, double error) {
    if (error <= 0 || (ranked_.size() == kWorst && error <= ranked_.back().error)) return;
    const auto place = std::ranges::upper_bound(ranked_, error, std::greater(), &Ranked::error);
    ranked_.insert(place, {error, {index, golden, actual}});
    if (ranked_.size() > kWorst) ranked_.pop_back();
  }
  std::vector<WorstElement> list() const {
    std::vector<WorstElement> elements;
    for (const Ranked& ranked : ranked_) elements.push_back(ranked.element);
    return elements;
  }

 private:
  struct Ranked {
    double error = 0;
    WorstElement element;
  };
  std::vector<Ranked> ranked_;
};

void raise_cell(float& cell, double error) {
  if (std::isnan(cell)) return;
  if (error == kInf) {
    cell = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  const double most = std::numeric_limits<float>::max();
  cell = std::max(cell, static_cast<float>(std::min(error, most)));
}

// Cells for each dimension: the last two get theirs first, then those before them in turn.
std::vector<std::size_t> plane_sizes(const std::vector<std::int64_t>& dims) {
  std::vector<std::size_t> sizes(dims.size(), 1);
  std::size_t cells = 1;
  for (std::size_t axis = dims.size() - 2; axis < dims.size(); ++axis) {
    sizes[axis] = static_cast<std::size_t>(std::clamp<std::int64_t>(dims[axis], 1, ErrorPlanes::kMostAcross));
    cells *= sizes[axis];
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) {
      const std::size_t more = cells / sizes[axis] * (sizes[axis] + 1);
      if (sizes[axis] >= static_cast<std::uint64_t>(dims[axis]) || more > ErrorPlanes::kMostCells) continue;
      ++sizes[axis];
      cells = more;
      has_grown = true;
    }
  }
  return sizes;
}

// Adds errors in row-major order to a map and to the profile of each dimension.
class ErrorPainter {
 public:
  explicit ErrorPainter(const model::Shape& shape) : dims_(std::max<std::size_t>(shape.dims().size(), 1), 1) {
    std::ranges::copy(shape.dims(), dims_.begin());
    place_.resize(dims_.size());
    for (const std::int64_t dim : dims_) count_ *= static_cast<std::uint64_t>(dim);
    split();
    map_.rows = std::min<std::uint64_t>(map_height_, ErrorMap::kMostCells);
    map_.columns = std::min<std::uint64_t>(map_width_, ErrorMap::kMostCells);
    map_.cells.resize(map_.rows * map_.columns);
    for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
      const auto size =
          std::min<std::uint64_t>(static_cast<std::uint64_t>(dims_[axis]), ErrorMap::kMostCells);
      profiles_.push_back({axis, std::vector<float>(size)});
    }
    if (dims_.size() < 3) return;
    plane_sizes_ = plane_sizes(dims_);
    std::size_t cells = 1;
    for (const std::size_t size : plane_sizes_) cells *= size;
    planes_.resize(cells);
  }

  void add(double error, double golden, double actual) {
    if (error > 0) paint(error);
    if (!std::isfinite(golden) || !std::isfinite(actual)) mark(golden, actual);
    ++index_;
    for (std::size_t axis = place_.size(); axis-- > 0;) {
      if (++place_[axis] < dims_[axis]) break;
      place_[axis] = 0;
    }
  }

  void give_to(ErrorDetails& details) {
    details.map = std::move(map_);
    details.not_finite = std::move(not_finite_);
    details.profiles = std::move(profiles_);
    if (!planes_.empty()) details.planes = make_planes();
  }

 private:
  // Which dimensions go across: the last ones, as many as fill the picture best.
  void split() {
    if (count_ == 0) return;
    std::uint64_t most = 0, rows = count_;
    for (std::size_t axis = dims_.size(); axis-- > 0;) {
      rows /= static_cast<std::uint64_t>(dims_[axis]);
      const std::uint64_t columns = count_ / rows;
      const std::uint64_t cells = std::min<std::uint64_t>(rows, ErrorMap::kMostCells) *
                                  std::min<std::uint64_t>(columns, ErrorMap::kMostCells);
      if (cells <= most) continue;
      most = cells;
      map_.across = axis;
      map_height_ = rows;
      map_width_ = columns;
    }
    if (map_height_ != 1 || map_width_ <= ErrorMap::kMostCells) return;
    map_width_ = static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(count_))));
    map_height_ = (count_ + map_width_ - 1) / map_width_;
  }

  ErrorPlanes make_planes() const {
    ErrorPlanes planes{.sizes = plane_sizes_, .largest = 0, .cells = {}};
    for (const float cell : planes_)
      planes.largest = std::max(planes.largest, std::isnan(cell) ? 0.0 : double{cell});
    for (const float cell : planes_) {
      const double level = cell > 0 ? std::max(1.0, 254 + 8 * std::log2(double{cell} / planes.largest)) : 0;
      planes.cells.push_back(std::isnan(cell) ? 255 : static_cast<std::uint8_t>(level));
    }
    return planes;
  }

  std::size_t cell() const {
    const std::uint64_t row = index_ / map_width_ * map_.rows / map_height_;
    const std::uint64_t column = index_ % map_width_ * map_.columns / map_width_;
    return row * map_.columns + column;
  }

  void mark(double golden, double actual) {
    if (not_finite_.empty()) not_finite_.resize(map_.cells.size());
    const int bits = (std::isnan(golden) ? golden_nan : 0) | (std::isinf(golden) ? golden_inf : 0) |
                     (std::isnan(actual) ? actual_nan : 0) | (std::isinf(actual) ? actual_inf : 0);
    not_finite_[cell()] |= static_cast<std::uint8_t>(bits);
  }

  void paint(double error) {
    raise_cell(map_.cells[cell()], error);
    for (ErrorProfile& profile : profiles_) {
      const auto place = static_cast<std::uint64_t>(place_[profile.axis]);
      const auto size = static_cast<std::uint64_t>(dims_[profile.axis]);
      raise_cell(profile.cells[place * profile.cells.size() / size], error);
    }
    if (planes_.empty()) return;
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < dims_.size(); ++axis)
      at = at * plane_sizes_[axis] + static_cast<std::uint64_t>(place_[axis]) * plane_sizes_[axis] /
                                         static_cast<std::uint64_t>(dims_[axis]);
    raise_cell(planes_[at], error);
  }

  std::vector<std::int64_t> dims_, place_;
  std::uint64_t count_ = 1, map_width_ = 0, map_height_ = 0, index_ = 0;
  ErrorMap map_;
  std::vector<std::uint8_t> not_finite_;
  std::vector<ErrorProfile> profiles_;
  std::vector<std::size_t> plane_sizes_;
  std::vector<float> planes_;  // of tensors of three and more dimensions
};

// The bin of `value` among `bins` of equal width. Halves: the range of float64 itself would overflow.
std::size_t bin_of(double value, double lowest, double highest, std::size_t bins) {
  const double width = highest / 2 - lowest / 2;
  const double share = width > 0 ? (value / 2 - lowest / 2) / width : 0;
  return std::min(static_cast<std::size_t>(share * static_cast<double>(bins)), bins - 1);
}

void count_value(ValueHistogram& histogram, double value) {
  if (std::isnan(value)) {
    ++histogram.nan_count;
  } else if (std::isinf(value)) {
    ++histogram.inf_count;
  } else {
    ++histogram.counts[bin_of(value, histogram.lowest, histogram.highest, ValueHistogram::kBins)];
  }
}

// Describes a float without its leading bit; form_of() returns nothing for other dtypes.
struct FloatForm {
  int mantissa_bits = 0, least_exponent = 0;
};
std::optional<FloatForm> form_of(model::DType dtype) {
  switch (dtype) {
    case model::DType::float64:
      return FloatForm{52, -1022};
    case model::DType::float32:
      return FloatForm{23, -126};
    case model::DType::float16:
      return FloatForm{10, -14};
    case model::DType::bfloat16:
      return FloatForm{7, -126};
    default:
      return std::nullopt;
  }
}

class UlpCounter {
 public:
  UlpCounter(FloatForm golden, FloatForm actual)
      : form_(golden.mantissa_bits <= actual.mantissa_bits ? golden : actual) {}

  void add(double golden, double actual) {
    const ScaledError error = scaled_error(actual, golden, {});
    std::size_t bin = 0;
    if (error.absolute == kInf) {
      bin = counts_.size() - 1;
    } else if (error.absolute > 0) {
      const int exponent =
          golden == 0 ? form_.least_exponent : std::max(std::ilogb(golden), form_.least_exponent);
      const double ulps = std::ldexp(error.absolute, form_.mantissa_bits - exponent);
      bin = ulps < 1
                ? 1
                : std::min<std::size_t>(2 + static_cast<std::size_t>(std::ilogb(ulps)), counts_.size() - 1);
    }
    ++counts_[bin];
  }
  const UlpHistogram& counts() const { return counts_; }

 private:
  FloatForm form_;
  UlpHistogram counts_{};
};

// Counts pairs of values, from `lowest` to `highest` on both sides.
class ScatterCounter {
 public:
  ScatterCounter(double lowest, double highest)
      : lowest_(lowest), highest_(highest), counts_(kCells * kCells) {}

  void add(double golden, double actual) {
    if (std::isfinite(golden) && std::isfinite(actual))
      ++counts_[bin_of(actual, lowest_, highest_, kCells) * kCells +
                bin_of(golden, lowest_, highest_, kCells)];
  }
  ErrorScatter picture() const {
    ErrorScatter scatter;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0)
        scatter.cells[i] =
            static_cast<std::uint8_t>(std::min(255.0, 1 + 16 * std::log2(static_cast<double>(counts_[i]))));
    return scatter;
  }

 private:
  static constexpr std::size_t kCells = ErrorScatter::kCells;
  double lowest_, highest_;
  std::vector<std::uint64_t> counts_;
};

// Calls `visit(golden, actual)` for each pair of elements.
template <typename Visit>
void visit_pairs(const model::TensorView& actual, const model::TensorView& golden, const Visit& visit) {
  LaneReader<double> a(actual), g(golden);
  for (std::uint64_t left = golden.element_count(); left > 0;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kLaneBlock));
    const double* in_actual = a.next(count);
    const double* in_golden = g.next(count);
    for (std::size_t i = 0; i < count; ++i) visit(in_golden[i], in_actual[i]);
    left -= count;
    give_back_when_due();
  }
}

}  // namespace

Result<ErrorDetails> examine_errors(const model::TensorView& actual, const model::TensorView& golden,
                                    Tolerance tolerance, bool pictures) {
  if (!has_statistics(actual.dtype) || !has_statistics(golden.dtype))
    return Error(Code::unsupported, "elements without an order have no details of errors");
  if (!(actual.shape == golden.shape)) return Error(Code::unsupported, "the shapes differ");
  ErrorDetails details;
  OctaveCounts scaled, absolute;
  WorstElements worst;
  ErrorPainter painter(golden.shape);
  double lowest = kInf, highest = -kInf;
  std::uint64_t index = 0;
  visit_pairs(actual, golden, [&](double g, double a) {
    const ScaledError error = scaled_error(a, g, tolerance);
    scaled.add(error.scaled);
    absolute.add(error.absolute);
    worst.add(index++, g, a, error.absolute);
    if (!pictures) return;
    painter.add(error.absolute, g, a);
    for (const double value : {g, a})
      if (std::isfinite(value)) lowest = std::min(lowest, value), highest = std::max(highest, value);
  });
  details.scaled = scaled.quantiles();
  details.absolute = absolute.quantiles();
  details.worst = worst.list();
  if (!pictures) return details;
  painter.give_to(details);
  if (lowest > highest) lowest = highest = 0;
  for (ValueHistogram* const histogram : {&details.golden, &details.actual}) {
    histogram->lowest = lowest;
    histogram->highest = highest;
  }
  const auto golden_form = form_of(golden.dtype), actual_form = form_of(actual.dtype);
  std::optional<UlpCounter> ulps;
  if (golden_form && actual_form) ulps.emplace(*golden_form, *actual_form);
  ScatterCounter scatter(lowest, highest);
  visit_pairs(actual, golden, [&](double g, double a) {
    count_value(details.golden, g);
    count_value(details.actual, a);
    scatter.add(g, a);
    if (ulps) ulps->add(g, a);
  });
  details.scatter = scatter.picture();
  if (ulps) details.ulps = ulps->counts();
  return details;
}

}  // namespace opdump::math
