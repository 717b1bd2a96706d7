#include "blame/inputs/dummy_data.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "compare/wiring/content.h"

namespace opdump::blame {
namespace {

using Elements = std::span<const std::uint64_t>;

constexpr std::size_t kFew = 8;  // elements that may be the same by chance

// The numbers are those of compare::elements_of.
struct Zeros {
  std::uint64_t positive = 0, negative = 0;
  bool contain(std::uint64_t element) const { return element == positive || element == negative; }
  bool contain_all(Elements elements) const {
    return std::ranges::all_of(elements, [this](std::uint64_t element) { return contain(element); });
  }
};

Zeros zeros_of(model::DType dtype) {
  std::array<std::byte, 16> bytes = {};
  const auto element = [&] {
    return compare::hash_elements(model::TensorView::row_major(dtype, {1}, bytes.data())).at(0);
  };
  Zeros zeros;
  zeros.positive = zeros.negative = element();
  bytes[std::max(1u, model::dtype_info(dtype).bits / 8u) - 1] = std::byte{0x80};
  if (model::is_floating(dtype)) zeros.negative = element();
  return zeros;
}

bool are_equal(Elements elements) {
  return std::ranges::all_of(elements, [&](std::uint64_t element) { return element == elements.front(); });
}

// The elements of `whole` beside its first places, which are those of `part`; nothing if they are not.
std::optional<std::vector<std::uint64_t>> find_rest(const model::Shape& part_shape, Elements part,
                                                    const model::Shape& whole_shape, Elements whole) {
  if (part_shape.rank() != whole_shape.rank()) return std::nullopt;
  for (std::size_t axis = 0; axis < part_shape.rank(); ++axis)
    if (part_shape[axis] > whole_shape[axis]) return std::nullopt;
  std::vector<std::uint64_t> rest;
  std::vector<std::int64_t> index(whole_shape.rank(), 0);
  std::size_t next = 0;  // in part
  for (const std::uint64_t element : whole) {
    bool is_inside = true;
    for (std::size_t axis = 0; axis < index.size(); ++axis) is_inside &= index[axis] < part_shape[axis];
    if (!is_inside) {
      rest.push_back(element);
    } else if (element != part[next++]) {
      return std::nullopt;
    }
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < whole_shape[axis]) break;
      index[axis] = 0;
    }
  }
  return rest;
}

struct Data {
  std::string name;
  const model::Shape& shape;
  Elements elements;
};

std::string describe(const Data& data, const Data& other, const Zeros& zeros) {
  const bool is_zero = zeros.contain_all(data.elements);
  if (data.elements.size() >= kFew && (is_zero || are_equal(data.elements)) && !are_equal(other.elements))
    return (is_zero ? ", and it is all zero in " : ", and all its elements are the same in ") + data.name +
           ": never filled, or a profiling run?";
  if (data.shape == other.shape) {
    for (std::size_t i = 0; i < data.elements.size(); ++i)
      if (data.elements[i] != other.elements[i] && !zeros.contain(data.elements[i])) return "";
    return ", and where they differ it is zero in " + data.name + ": padding or a mask?";
  }
  const auto rest = find_rest(data.shape, data.elements, other.shape, other.elements);
  if (!rest || rest->empty()) return "";
  return ", and " + data.name + "'s is the first part of " + other.name + "'s" +
         (zeros.contain_all(*rest)                   ? "; the rest is zero: padding"
          : rest->size() >= kFew && are_equal(*rest) ? "; the rest has one value: padding"
                                                     : "");
}

}  // namespace

std::string describe_dummy(const dump::Slot& golden, Elements golden_elements, const dump::Slot& actual,
                           Elements actual_elements) {
  if (golden.dtype != actual.dtype || !golden.shape || !actual.shape) return "";
  const Data sides[] = {{"golden", *golden.shape, golden_elements},
                        {"actual", *actual.shape, actual_elements}};
  for (const Data& side : sides)  // not of types with several elements to a byte
    if (side.elements.empty() || model::element_count(side.shape) != side.elements.size()) return "";
  const Zeros zeros = zeros_of(golden.dtype);
  const std::string text = describe(sides[1], sides[0], zeros);
  return text.empty() ? describe(sides[0], sides[1], zeros) : text;
}

}  // namespace opdump::blame
