#include "msaccucmp/convert/wrong_filters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace opdump::msaccucmp {
namespace {

using model::Format;
using model::Shape;

constexpr std::int64_t kFilterBlock = 16;  // the only size that the original knows

struct AxisExtent {
  std::int64_t extent = 1, stride = 0;
};

AxisExtent axis_of(char name, Format format, const Shape& shape) {
  const std::size_t at = model::format_name(format).find(name);
  return at < shape.rank() ? AxisExtent{shape[at], model::row_major_strides(shape)[at]} : AxisExtent{};
}

}  // namespace

Result<std::vector<std::byte>> make_wrong_filters(std::span<const std::byte> elements,
                                                  std::size_t element_bytes, Format plain, const Shape& shape,
                                                  const Shape& stored, std::int64_t groups) {
  const AxisExtent n = axis_of('N', plain, shape), c = axis_of('C', plain, shape),
                   h = axis_of('H', plain, shape), w = axis_of('W', plain, shape);
  const std::int64_t cout = n.extent / groups;
  const std::int64_t fold = std::min(
      std::lcm(kFilterBlock / std::gcd(c.extent, kFilterBlock), kFilterBlock / std::gcd(cout, kFilterBlock)),
      groups);
  const auto count = model::element_count(stored);
  const bool fits = count && stored.rank() == 4 && stored[2] == kFilterBlock && stored[3] == kFilterBlock;
  if (!fits) return Error(Code::corrupt, "cannot make shape " + model::format_shape(stored));
  std::vector<std::byte> out(*count * element_bytes);
  for (std::int64_t group = 0; group < groups; ++group)
    for (std::int64_t channel = 0; channel < c.extent; ++channel)
      for (std::int64_t place = 0; place < h.extent * w.extent * cout; ++place) {
        const std::int64_t filter = place % cout, x = place / cout % w.extent, y = place / cout / w.extent;
        const std::int64_t to_c = group % fold * c.extent + channel, to_n = group % fold * cout + filter;
        const std::int64_t block = (group / fold + 1) * (to_c / kFilterBlock);
        const std::int64_t row = (block * h.extent + y) * w.extent + x;
        const std::int64_t to = (row * stored[1] * kFilterBlock + to_n) * kFilterBlock + to_c % kFilterBlock;
        const std::int64_t from =
            (group * cout + filter) * n.stride + channel * c.stride + y * h.stride + x * w.stride;
        std::memcpy(out.data() + static_cast<std::size_t>(to) * element_bytes,
                    elements.data() + static_cast<std::size_t>(from) * element_bytes, element_bytes);
      }
  return out;
}

}  // namespace opdump::msaccucmp
