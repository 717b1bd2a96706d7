#include "blame/dummy_data.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "compare/content.h"

namespace opdump::blame {
namespace {

using Elements = std::span<const std::uint64_t>;

constexpr std::size_t kFew = 8;  // elements that may be the same by chance

std::uint64_t element_of(model::DType dtype, const std::array<std::byte, 16>& bytes) {
  return compare::hash_elements(model::TensorView::row_major(dtype, {1}, bytes.data())).at(0);
}

bool is_uniform(Elements elements) {
  return elements.size() >= kFew &&
         std::ranges::all_of(elements, [&](std::uint64_t element) { return element == elements.front(); });
}

// Whether a tensor of the same shape is zero wherever the other one has something else.
bool is_zero_where_they_differ(Elements elements, Elements other, std::uint64_t zero) {
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != other[i] && elements[i] != zero) return false;
  return true;
}

// The elements of `whole` beside its first places, which are those of `part`; nothing if they are not.
std::optional<std::vector<std::uint64_t>> find_rest(const model::Shape& part_shape, Elements part,
                                                    const model::Shape& whole_shape, Elements whole) {
  if (part_shape.rank() != whole_shape.rank() || part.empty()) return std::nullopt;
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
  model::Shape shape;
  std::vector<std::uint64_t> elements;
};

std::string describe(const Data& data, const Data& other, std::uint64_t zero) {
  if (is_uniform(data.elements) && !is_uniform(other.elements))
    return (data.elements.front() == zero ? ", and it is all zero in "
                                          : ", and all its elements are the same in ") +
           data.name + ": never filled, or a profiling run?";
  if (data.shape == other.shape)
    return is_zero_where_they_differ(data.elements, other.elements, zero)
               ? ", and where they differ it is zero in " + data.name + ": padding or a mask?"
               : "";
  const auto rest = find_rest(data.shape, data.elements, other.shape, other.elements);
  if (!rest || rest->empty()) return "";
  const bool is_zero = std::ranges::all_of(*rest, [&](std::uint64_t element) { return element == zero; });
  return ", and " + data.name + "'s is the first part of " + other.name + "'s" +
         (is_zero             ? "; the rest is zero: padding"
          : is_uniform(*rest) ? "; the rest has one value: padding"
                              : "");
}

}  // namespace

std::string describe_dummy(const dump::Slot& golden, Elements golden_elements, const dump::Slot& actual,
                           Elements actual_elements) {
  if (golden.dtype != actual.dtype || !golden.shape || !actual.shape) return "";
  Data sides[] = {{"golden", *golden.shape, {golden_elements.begin(), golden_elements.end()}},
                  {"actual", *actual.shape, {actual_elements.begin(), actual_elements.end()}}};
  std::array<std::byte, 16> bytes = {};
  const std::uint64_t zero = element_of(golden.dtype, bytes);
  bytes[std::max(1u, model::dtype_info(golden.dtype).bits / 8u) - 1] = std::byte{0x80};
  const std::uint64_t negative_zero =
      model::is_floating(golden.dtype) ? element_of(golden.dtype, bytes) : zero;
  for (Data& side : sides) {  // not of types with several elements to a byte
    if (side.elements.empty() || model::element_count(side.shape) != side.elements.size()) return "";
    std::ranges::replace(side.elements, negative_zero, zero);
  }
  const std::string text = describe(sides[1], sides[0], zero);
  return text.empty() ? describe(sides[0], sides[1], zero) : text;
}

}  // namespace opdump::blame
