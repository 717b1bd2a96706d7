// compare_tensors one element at a time, written from its definition. It shares no code with the fast path
// but the conversion of a single element.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "math/convert.h"
#include "math/float_environment.h"
#include "math/metrics/metrics.h"

namespace opdump::math {
namespace {

using model::DType;
using model::TensorView;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Every real number of the tensor, in order; a complex element gives two.
std::vector<double> real_numbers(const TensorView& view) {
  std::vector<double> numbers;
  const model::DTypeInfo& info = model::dtype_info(view.dtype);
  const bool complex = info.kind == model::DTypeKind::complex;
  const DType part = view.dtype == DType::complex32   ? DType::float16
                     : view.dtype == DType::complex64 ? DType::float32
                                                      : DType::float64;
  for (std::uint64_t i = 0; i < view.element_count(); ++i) {
    std::int64_t offset = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = view.shape.rank(); axis-- > 0 && info.bits >= 8; rest /= view.shape[axis])
      offset += rest % view.shape[axis] * view.strides[axis];
    if (info.bits < 8) offset = rest;
    numbers.push_back(
        element_as_double(complex ? part : view.dtype, view.data, complex ? 2 * offset : offset));
    if (complex) numbers.push_back(element_as_double(part, view.data, 2 * offset + 1));
  }
  return numbers;
}

double distance(double a, double g) {
  if (a == g || (std::isnan(a) && std::isnan(g))) return 0;
  return std::isfinite(a) && std::isfinite(g) ? std::abs(a - g) : kInfinity;
}

double relative(double a, double g) {
  const double abs = distance(a, g);
  return abs == 0 || abs == kInfinity ? abs : abs / std::abs(g);
}

}  // namespace

Metrics compare_tensors_reference(const TensorView& actual, const TensorView& golden, Tolerance tolerance) {
  const FloatEnvironment environment;
  const std::vector<double> as = real_numbers(actual), gs = real_numbers(golden);
  const bool complex = model::dtype_info(actual.dtype).kind == model::DTypeKind::complex;
  Metrics m;
  double dot = 0, aa = 0, aa_of_all = 0, gg = 0, dd = 0, total = 0;
  m.count = as.size();
  const double la = model::largest_number(actual.dtype).value_or(0);
  const double lg = model::largest_number(golden.dtype).value_or(0);
  for (std::size_t i = 0; i < as.size(); ++i) {
    const double a = as[i], g = gs[i];
    const double least = std::min(la, lg), clamped = la < lg ? a : g;
    const bool is_clamped =
        clamped == -least && std::max(a, g) <= -least && std::isfinite(a) && std::isfinite(g);
    const bool extreme =
        (least > 0 && la != lg && (is_clamped || (a == la && g == lg))) || tolerance.is_filler(a, g);
    const double abs = extreme ? 0 : distance(a, g);
    const bool finite = std::isfinite(a) && std::isfinite(g) && !extreme;
    if (i == 0 || abs > m.max_abs) {
      m.max_abs = abs;
      m.max_abs_index = complex ? i / 2 : i;
      m.max_abs_actual = a;
      m.max_abs_golden = g;
    }
    m.max_rel = std::max(m.max_rel, extreme ? 0 : relative(a, g));
    if (finite ? !(abs <= tolerance.atol + tolerance.rtol * std::abs(g)) : abs != 0) ++m.mismatch_count;
    if (!finite && abs != 0) ++m.nan_mismatch_count;
    total += abs;
    dd += abs * abs;
    if (!finite) {
      aa_of_all = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    dot += a * g;
    aa += a * a;
    aa_of_all += a * a;
    gg += g * g;
  }
  const double count = std::max<double>(1, static_cast<double>(m.count));
  m.mean_abs = total / count;
  m.rmse = std::sqrt(dd / count);
  m.actual_norm = std::sqrt(aa_of_all);
  m.relative_l2 = dd == 0 ? 0 : dd == kInfinity && gg < kInfinity ? kInfinity : std::sqrt(dd) / std::sqrt(gg);
  m.cosine = aa == 0 && gg == 0 ? 1 : aa == 0 || gg == 0 ? 0 : dot / (std::sqrt(aa) * std::sqrt(gg));
  return m;
}

}  // namespace opdump::math
