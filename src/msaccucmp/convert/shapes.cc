#include "msaccucmp/convert/shapes.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "math/layout/device_layout.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/dump.h"
#include "msaccucmp/shape_text.h"

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;

constexpr std::int64_t kBlock = 16;  // of channels and of filters: the only size that the original makes
constexpr std::string_view kNoIndex = "list index out of range";
constexpr std::string_view kByZero = "integer division or modulo by zero";

Error said(std::string_view text) { return Error(Code::corrupt, std::string(text)); }

std::int64_t blocks_of(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }

class Shapes {
 public:
  Shapes(const LayoutRequest& request, std::uint64_t count, bool is_bug_compatible, Log& log)
      : request_(request),
        count_(count),
        is_bug_compatible_(is_bug_compatible),
        log_(log),
        change_{request.from, request.to, request.stored, {}, {}, request.groups} {}

  Result<arrays::LayoutChange> make() {
    OPDUMP_CHECK_OK(check_extents());
    if (request_.to == Format::fractal_z) return filters();
    if (request_.groups > 1 && is_bug_compatible_)
      return said("convert() takes 3 positional arguments but 4 were given");
    switch (request_.from) {
      case Format::nc1hwc0:
        return blocks_of_channels();
      case Format::ndc1hwc0:
        return volumes();
      case Format::fractal_z:
        return of_filters();
      case Format::fractal_nz:
        return of_matrix();
      default:
        return turned();
    }
  }

 private:
  // Dimensions may be multiplied, beside a 0 too.
  Result<> check_extents() const {
    std::vector<std::int64_t> dims(request_.stored.dims().begin(), request_.stored.dims().end());
    std::ranges::replace(dims, 0, 1);
    if (model::element_count(Shape(std::span<const std::int64_t>(dims)))) return ok();
    return said("Maximum allowed dimension exceeded");
  }

  // numpy.reshape's check.
  Result<> fits(const Shape& shape) const {
    if (model::element_count(shape) == count_) return ok();
    return said(cannot_reshape(count_, shape));
  }

  // The first dimensions; the original overlooks those behind.
  Result<> keep_first(std::size_t rank) {
    if (change_.stored.rank() < rank) return said(kNoIndex);
    change_.stored = Shape(change_.stored.dims().first(rank));
    return ok();
  }

  // The dimension of `shape` that the letter of a plain format names.
  static std::int64_t named(char letter, Format format, const Shape& shape) {
    return shape[model::format_name(format).find(letter)];
  }

  arrays::LayoutChange made(const Shape& shape) {
    change_.made = change_.result = shape;
    return change_;
  }

  // A shape with the letters of the target's name.
  Shape in_target(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    Shape shape{n, c, h, w};
    constexpr std::string_view kLetters = "NCHW";
    const Shape values = shape;
    for (std::size_t i = 0; i < kLetters.size(); ++i)
      shape.dims()[model::format_name(request_.to).find(kLetters[i])] = values[i];
    return shape;
  }

  Result<arrays::LayoutChange> blocks_of_channels() {
    OPDUMP_CHECK_OK(keep_first(5));
    const Shape& s = change_.stored;
    OPDUMP_CHECK_OK(fits(s));
    return made(in_target(s[0], s[1] * s[4], s[2], s[3]));
  }

  Result<arrays::LayoutChange> turned() {
    OPDUMP_CHECK_OK(keep_first(4));
    const Shape& s = change_.stored;
    OPDUMP_CHECK_OK(fits(s));
    const auto of = [&](char letter) { return named(letter, request_.from, s); };
    return made(in_target(of('N'), of('C'), of('H'), of('W')));
  }

  Result<arrays::LayoutChange> volumes() {
    const Shape &s = change_.stored, &want = request_.wanted;
    const bool is_nd = request_.to == Format::nd;
    if (s.rank() < 6 && !is_nd) {
      log_.fail(Status::out_of_bounds, "length of shape of NDC1HWC0 is less than 6, please check.");
      return said("12");
    }
    if (s.rank() < 6)
      return said("not enough values to unpack (expected 6, got " + std::to_string(s.rank()) + ")");
    if (s.rank() > 6 && is_nd) return said("too many values to unpack (expected 6)");
    if (!is_nd && want.rank() < 2) return said(kNoIndex);
    OPDUMP_CHECK_OK(fits(s));
    if (s.rank() > 6) return said("axes don't match array");
    made({s[0], s[2] * s[5], s[1], s[3], s[4]});
    if (!is_nd || want.rank() == 5) change_.result.dims()[1] = cut_padding(want[1], s[2] * s[5]);
    return change_;
  }

  Result<arrays::LayoutChange> of_filters() {
    const Shape& want = request_.wanted;
    if (want.rank() < 4) return said(kNoIndex);
    OPDUMP_CHECK_OK(keep_first(4));
    const auto of = [&](char letter) { return named(letter, request_.to, want); };
    const Shape& s = change_.stored;
    if (request_.groups > 1) {
      OPDUMP_CHECK_OK(fits(s));
      return made(Shape(want.dims().first(4)));
    }
    const std::int64_t h = of('H'), w = of('W');
    std::int64_t window = 0;
    if (h == 0 || w == 0) return said(kByZero);
    if (h < 0 || w < 0 || __builtin_mul_overflow(h, w, &window)) return said("window of filters");
    const std::int64_t c1 = s[0] / window;
    OPDUMP_CHECK_OK(fits({c1, h, w, s[1], s[2], s[3]}));
    made(in_target(s[1] * s[2], c1 * s[3], h, w));
    change_.result = in_target(cut_padding(of('N'), s[1] * s[2]), cut_padding(of('C'), c1 * s[3]), h, w);
    return change_;
  }

  Result<arrays::LayoutChange> of_matrix() {
    const Shape &s = change_.stored, &want = request_.wanted;
    const std::size_t last = s.rank() - 1;
    std::int64_t batch = 1;
    for (std::size_t i = 0; i + 4 <= last; ++i) batch *= s[i];
    OPDUMP_CHECK_OK(fits({batch, s[last - 3], s[last - 2], s[last - 1], s[last]}));
    const std::int64_t height = s[last - 2] * s[last - 1], width = s[last - 3] * s[last];
    const std::int64_t rows = cut_padding(want[want.rank() - 2], height),
                       columns = cut_padding(want[want.rank() - 1], width);
    const bool is_flat = want.rank() <= 2;
    change_.made = is_flat ? Shape{height, width} : Shape{batch, height, width};
    change_.result = is_flat ? Shape{rows, columns} : Shape{batch, rows, columns};
    return change_;
  }

  Result<arrays::LayoutChange> filters() {
    OPDUMP_CHECK_OK(keep_first(4));
    const Shape& s = change_.stored;
    OPDUMP_CHECK_OK(fits(s));
    const auto of = [&](char letter) { return named(letter, request_.from, s); };
    const std::int64_t groups = std::max<std::int64_t>(request_.groups, 1);
    const std::int64_t c = of('C'), n = of('N') / groups;
    if (c == 0 || n == 0) return said(kByZero);
    if (of('N') % groups != 0 && !is_bug_compatible_)
      return said(std::to_string(groups) + " groups of " + std::to_string(of('N')) + " filters");
    const std::int64_t fold =
        std::min(std::lcm(kBlock / std::gcd(c, kBlock), kBlock / std::gcd(n, kBlock)), groups);
    std::int64_t rows = 0;
    if (__builtin_mul_overflow((groups + fold - 1) / fold * blocks_of(c * fold), of('H') * of('W'), &rows))
      return said("too many blocks");
    return made({rows, blocks_of(n * fold), kBlock, kBlock});
  }

  const LayoutRequest& request_;
  std::uint64_t count_;
  bool is_bug_compatible_;
  Log& log_;
  arrays::LayoutChange change_;
};

}  // namespace

Result<arrays::LayoutChange> shapes_of_change(const LayoutRequest& request, std::uint64_t count,
                                              bool is_bug_compatible, Log& log) {
  return Shapes(request, count, is_bug_compatible, log).make();
}

}  // namespace opdump::msaccucmp
