#include "compare/pairs/rows/axis_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text/text.h"

namespace opdump::compare {
namespace {

using model::Shape;

constexpr std::size_t kNone = SIZE_MAX;
constexpr std::size_t kMostPlans = 6;

// One factor of an axis: of a named axis, or of nothing that differs.
struct Factor {
  std::size_t axis = kNone;  // of RowAxisMap::axes
  std::int64_t golden = 1, actual = 1;
  bool spreads_golden = false, spreads_actual = false;  // it is in the other tensor only
};
using Product = std::vector<Factor>;

// The named axes whose bit is set in `chosen`, in the order of the map: rows are outermost.
Product choose(const RowAxisMap& map, std::size_t chosen) {
  Product product;
  for (std::size_t axis = 0; axis < map.axes.size(); ++axis)
    if ((chosen >> axis & 1) != 0) product.push_back({axis, map.axes[axis].golden, map.axes[axis].actual});
  return product;
}

// `product` with a factor that is the same in both runs, the likeliest place first: rows are outermost, and
// positions innermost.
std::vector<Product> with_rest(const Product& product, std::int64_t rest) {
  std::vector<Product> found;
  for (std::size_t place = 0; place <= product.size(); ++place) {
    Product whole = product;
    whole.insert(whole.end() - static_cast<std::ptrdiff_t>(place), {.golden = rest, .actual = rest});
    found.push_back(std::move(whole));
  }
  if (product.front().axis > 0) std::ranges::reverse(found);
  return found;
}

// Ways in which an axis of these extents may be a product, the likeliest first: of as few named axes as
// possible, and of nothing else if that is possible.
std::vector<Product> products_of(const RowAxisMap& map, std::int64_t golden, std::int64_t actual) {
  if (golden == actual) return {{{.golden = golden, .actual = actual}}};
  std::vector<Product> found;
  const std::size_t all = std::size_t{1} << map.axes.size();
  for (const bool is_exact : {true, false})
    for (std::size_t size = 1; size <= map.axes.size() && found.empty(); ++size)
      for (std::size_t chosen = 1; chosen < all; ++chosen) {
        const Product product = choose(map, chosen);
        if (product.size() != size) continue;
        std::int64_t g = 1, a = 1;
        for (const Factor& factor : product) {
          g *= factor.golden;
          a *= factor.actual;
        }
        const bool fits = g > 0 && a > 0 && golden % g == 0 && actual % a == 0 && golden / g == actual / a;
        if (!fits || (golden == g) != is_exact) continue;
        if (is_exact)
          found.push_back(product);
        else if (found.empty())
          found = with_rest(product, golden / g);
      }
  return found;
}

// Rows of which both runs have as many, in the outermost axis of a tensor of other positions.
void name_equal_rows(const RowAxisMap& map, std::vector<std::vector<Product>>& ways) {
  const NamedAxis& rows = map.axes.front();
  const std::vector<Product>& first = ways.front();
  if (rows.golden != rows.actual || first.size() != 1 || first.front().size() != 1) return;
  const Factor factor = first.front().front();
  if (factor.axis != kNone || factor.golden % rows.golden != 0) return;
  Product product{{0, rows.golden, rows.golden}};
  if (const std::int64_t rest = factor.golden / rows.golden; rest != 1)
    product.push_back({.golden = rest, .actual = rest});
  ways.front() = {std::move(product)};
}

// What the blocks say of some of the axes; nothing if these are in other places in each block.
std::optional<std::vector<RowAxisMap::Block>> project(const RowAxisMap& map,
                                                      const std::vector<bool>& has_axis) {
  std::vector<RowAxisMap::Block> found;
  for (const RowAxisMap::Block& block : map.blocks) {
    RowAxisMap::Block part = block;
    for (std::size_t axis = 0; axis < part.size(); ++axis)
      if (!has_axis[axis]) part[axis] = {};
    if (std::ranges::find(found, part) == found.end()) found.push_back(std::move(part));
  }
  const auto overlap = [](std::int64_t a, std::int64_t a_count, std::int64_t b, std::int64_t b_count) {
    return a < b + b_count && b < a + a_count;
  };
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      bool in_golden = true, in_actual = true;
      for (std::size_t axis = 0; axis < has_axis.size(); ++axis) {
        if (!has_axis[axis]) continue;
        const AxisStretch &a = found[i][axis], &b = found[j][axis];
        in_golden &= overlap(a.golden, a.count, b.golden, b.count);
        in_actual &= overlap(a.actual, a.count, b.actual, b.count);
      }
      if (in_golden || in_actual) return std::nullopt;
    }
  return found;
}

// One tensor is the same all along an axis of the other: the first named one of its extent, if there is one.
Product spread(const RowAxisMap& map, std::int64_t golden, std::int64_t actual) {
  const std::size_t most = map.is_packed ? map.axes.size() : 1;
  std::size_t named = 0;
  while (named < most && (golden == 1 ? actual != map.axes[named].actual : golden != map.axes[named].golden))
    ++named;
  const bool is_named = named < most;
  const std::int64_t size = std::max(golden, actual);
  return {{.axis = is_named ? named : kNone,
           .golden = is_named ? map.axes[named].golden : size,
           .actual = is_named ? map.axes[named].actual : size,
           .spreads_golden = golden == 1,
           .spreads_actual = actual == 1}};
}

// `shape` with as many axes as `rank` says.
Shape with_rank(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> sizes(rank - shape.rank(), 1);
  sizes.insert(sizes.end(), shape.dims().begin(), shape.dims().end());
  return Shape(sizes);
}

// `golden_lacks`, `actual_lacks`: axes that the tensor does not have before its first.
PartPlan make_plan(const std::vector<Product>& products, const std::vector<RowAxisMap::Block>& blocks,
                   std::size_t golden_lacks, std::size_t actual_lacks) {
  std::vector<std::int64_t> golden, actual;
  std::vector<std::size_t> golden_axes, actual_axes, named;
  for (std::size_t axis = 0; axis < products.size(); ++axis)
    for (const Factor& factor : products[axis]) {
      golden.push_back(factor.golden);
      actual.push_back(factor.actual);
      const auto axis_in = [&](std::size_t lacks, bool is_spread) {
        return axis < lacks || is_spread ? Factors::kSpread : axis - lacks;
      };
      golden_axes.push_back(axis_in(golden_lacks, factor.spreads_golden));
      actual_axes.push_back(axis_in(actual_lacks, factor.spreads_actual));
      named.push_back(factor.axis);
    }
  PartPlan plan{.golden = {Shape(golden), golden_axes}, .actual = {Shape(actual), actual_axes}};
  for (const RowAxisMap::Block& block : blocks) {
    std::vector<std::int64_t> in_golden(golden.size()), in_actual(golden.size()), extent = golden;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (named[i] == kNone) continue;
      in_golden[i] = block[named[i]].golden;
      in_actual[i] = block[named[i]].actual;
      extent[i] = block[named[i]].count;
    }
    plan.parts.push_back({Shape(in_golden), Shape(in_actual), Shape(extent)});
  }
  return plan;
}

// Each axis that may have the rows, by itself or as a factor, and none of them.
AxesOfSlot find_reordered(const RowAxisMap& map, const Shape& shape) {
  AxesOfSlot found{.has_axis = {false}};
  const std::int64_t rows = map.axes.front().golden;
  std::vector<Product> plain;
  for (const std::int64_t size : shape.dims()) plain.push_back({{.golden = size, .actual = size}});
  auto parts = std::make_shared<SlotParts>();
  parts->plans.push_back(make_plan(plain, {RowAxisMap::Block(1)}, 0, 0));
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 0 || shape[axis] % rows != 0) continue;
    const Product product{{0, rows, rows}};
    const std::int64_t rest = shape[axis] / rows;
    for (Product& way : rest == 1 ? std::vector<Product>{product} : with_rest(product, rest)) {
      if (parts->plans.size() > kMostPlans) break;
      std::vector<Product> products = plain;
      products[axis] = std::move(way);
      parts->plans.push_back(make_plan(products, map.blocks, 0, 0));
    }
  }
  if (parts->plans.size() == 1) return found;
  found.has_axis.front() = true;
  found.parts = std::move(parts);
  return found;
}

std::string describe(const NamedAxis& axis, std::int64_t first, std::int64_t count, std::int64_t whole) {
  if (whole == 1) return "the only " + axis.name;
  const std::string begin = std::to_string(first);
  if (count == 1) return axis.name + " " + begin + " of " + std::to_string(whole);
  return axis.name + "s " + begin + "-" + std::to_string(first + count - 1) + " of " + std::to_string(whole);
}

}  // namespace

bool RowAxisMap::is_whole(std::size_t axis) const {
  std::vector<bool> golden(static_cast<std::size_t>(axes[axis].golden)),
      actual(static_cast<std::size_t>(axes[axis].actual));
  for (const Block& block : blocks)
    for (std::int64_t i = 0; i < block[axis].count; ++i) {
      golden[static_cast<std::size_t>(block[axis].golden + i)] = true;
      actual[static_cast<std::size_t>(block[axis].actual + i)] = true;
    }
  return std::ranges::count(golden, false) == 0 && std::ranges::count(actual, false) == 0;
}

std::optional<std::int64_t> RowAxisMap::actual_place(std::size_t axis, std::int64_t place) const {
  for (const Block& block : blocks)
    if (const AxisStretch& at = block[axis]; place >= at.golden && place < at.golden + at.count)
      return at.actual + place - at.golden;
  return std::nullopt;
}

std::string describe(const RowAxisMap& map) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, map.blocks.size()); ++i)
    for (std::size_t axis = 0; axis < map.axes.size(); ++axis) {
      const NamedAxis& named = map.axes[axis];
      const AxisStretch& at = map.blocks[i][axis];
      if (named.golden == named.actual &&
          (at.count == named.golden || (map.is_reordered() && at.golden == at.actual)))
        continue;
      text += (text.empty() ? "" : ", ") + describe(named, at.golden, at.count, named.golden) + " = " +
              describe(named, at.actual, at.count, named.actual);
    }
  if (map.blocks.size() > kMost)
    text += " and " + std::to_string(map.blocks.size() - kMost) + " more " +
            inflect(map.blocks.size() - kMost, "stretch", "stretches");
  return text;
}

std::optional<AxesOfSlot> find_parts(const RowAxisMap& map, const Shape& golden, const Shape& actual,
                                     bool is_spread) {
  const bool lacks_row =
      map.is_packed && (golden.rank() + 1 == actual.rank() || actual.rank() + 1 == golden.rank());
  if (golden.rank() != actual.rank() && !is_spread && !lacks_row) return std::nullopt;
  AxesOfSlot found;
  found.has_axis.assign(map.axes.size(), false);
  if (map.is_reordered() && golden == actual) return find_reordered(map, golden);
  if (golden == actual) return found;
  const std::size_t rank = std::max(golden.rank(), actual.rank());
  const Shape of_golden = with_rank(golden, rank), of_actual = with_rank(actual, rank);
  std::vector<std::vector<Product>> ways(rank);
  std::size_t plans = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t g = of_golden[axis], a = of_actual[axis];
    ways[axis] = products_of(map, g, a);
    if (ways[axis].empty() && is_spread && (g == 1 || a == 1)) ways[axis] = {spread(map, g, a)};
    if (ways[axis].empty()) return std::nullopt;
    plans = std::max(plans, ways[axis].size());
  }
  name_equal_rows(map, ways);
  for (const auto& way : ways)
    for (const Factor& factor : way.front())
      if (factor.axis != kNone) found.has_axis[factor.axis] = true;
  auto parts = std::make_shared<SlotParts>();
  const auto blocks = project(map, found.has_axis);
  if (!blocks) {
    parts->left_out = "each row has positions of its own";
  } else {
    // Axes of one tensor are products in the same way.
    for (std::size_t plan = 0; plan < std::min(plans, kMostPlans); ++plan) {
      std::vector<Product> products;
      products.reserve(ways.size());
      for (const auto& way : ways) products.push_back(way[std::min(plan, way.size() - 1)]);
      parts->plans.push_back(make_plan(products, *blocks, rank - golden.rank(), rank - actual.rank()));
    }
  }
  found.parts = std::move(parts);
  return found;
}

}  // namespace opdump::compare
