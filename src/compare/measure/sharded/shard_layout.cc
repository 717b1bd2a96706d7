#include "compare/measure/sharded/shard_layout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace opdump::compare {
namespace {

using model::Shape;
using model::TensorView;
using Kind = Placement::Kind;

constexpr std::size_t kMostLayouts = 4096, kMostMeshes = 8;

// A tensor whose axes are seen as several, row-major in each other.
class FactoredView {
 public:
  explicit FactoredView(const TensorView& view) : view_(view), axes_(view.shape.rank()) {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis)
      axes_[axis].push_back({view.shape[axis], view.strides[axis]});
  }

  std::int64_t size(std::size_t axis) const {
    std::int64_t size = 1;
    for (const Factor& factor : axes_[axis]) size *= factor.size;
    return size;
  }

  // Keeps elements [first, first + length) of each of `blocks` parts of the axis. False if that is no view.
  bool cut(std::size_t axis, std::int64_t blocks, std::int64_t first, std::int64_t length) {
    std::vector<Factor>& factors = axes_[axis];
    std::size_t at = 0;
    for (std::int64_t left = blocks; left > 1; ++at) {
      if (at == factors.size()) return false;
      if (left % factors[at].size == 0) {
        left /= factors[at].size;
      } else if (factors[at].size % left == 0) {
        split(factors, at, left);
        left = 1;
      } else {
        return false;
      }
    }
    std::int64_t inner = 1;  // elements of one of the factor that is cut
    for (std::size_t i = at + 1; i < factors.size(); ++i) inner *= factors[i].size;
    if (at == factors.size()) return first == 0 && length == 1;
    if (first % inner != 0 || length % inner != 0) return false;
    view_.data += first / inner * factors[at].stride * model::dtype_info(view_.dtype).bits / 8;
    factors[at].size = length / inner;
    return true;
  }

  // Splits the axes of both until they are as fine as those of either. False if their axes differ in size.
  static bool refine(FactoredView& a, FactoredView& b) {
    if (a.axes_.size() != b.axes_.size()) return false;
    for (std::size_t axis = 0; axis < a.axes_.size(); ++axis) {
      if (a.size(axis) != b.size(axis)) return false;
      std::vector<Factor>&fa = a.axes_[axis], &fb = b.axes_[axis];
      for (std::size_t i = 0; i < std::max(fa.size(), fb.size()); ++i) {
        for (std::vector<Factor>* one : {&fa, &fb})
          if (i == one->size()) one->push_back({1, 1});
        if (fa[i].size == fb[i].size) continue;
        std::vector<Factor>& larger = fa[i].size > fb[i].size ? fa : fb;
        const std::int64_t size = std::min(fa[i].size, fb[i].size);
        if (size == 0 || larger[i].size % size != 0) return false;
        split(larger, i, size);
      }
    }
    return true;
  }

  // Axes that lie in memory as one are one again, if they do in both.
  static ShardViews join(const FactoredView& whole, const FactoredView& shard) {
    std::vector<std::int64_t> sizes, of_whole, of_shard;
    for (std::size_t axis = 0; axis < whole.axes_.size(); ++axis)
      for (std::size_t i = 0; i < whole.axes_[axis].size(); ++i) {
        const Factor &w = whole.axes_[axis][i], &s = shard.axes_[axis][i];
        if (w.size == 1) continue;
        if (!sizes.empty() && of_whole.back() == w.size * w.stride && of_shard.back() == s.size * s.stride) {
          sizes.back() *= w.size;
          of_whole.back() = w.stride;
          of_shard.back() = s.stride;
          continue;
        }
        sizes.push_back(w.size);
        of_whole.push_back(w.stride);
        of_shard.push_back(s.stride);
      }
    return {whole.with(sizes, of_whole), shard.with(sizes, of_shard)};
  }

 private:
  struct Factor {
    std::int64_t size = 1, stride = 1;
  };
  static void split(std::vector<Factor>& factors, std::size_t at, std::int64_t outer) {
    const Factor whole = factors[at];
    const std::int64_t inner = whole.size / outer;
    factors[at] = {outer, whole.stride * inner};
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(at) + 1, {inner, whole.stride});
  }
  TensorView with(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) const {
    return {view_.dtype, Shape(sizes), Shape(strides), view_.data};
  }

  TensorView view_;
  std::vector<std::vector<Factor>> axes_;
};

std::vector<std::int64_t> places_of(std::span<const std::int64_t> mesh, std::size_t rank) {
  std::vector<std::int64_t> places(mesh.size());
  auto left = static_cast<std::int64_t>(rank);
  for (std::size_t i = mesh.size(); i-- > 0; left /= mesh[i]) places[i] = left % mesh[i];
  return places;
}

struct Chunk {
  std::int64_t first = 0, length = 0;
};
Chunk cut_chunk(std::int64_t size, std::int64_t parts, std::int64_t place) {
  const std::int64_t chunk = (size + parts - 1) / parts;
  const std::int64_t first = std::min(place * chunk, size);
  return {first, std::min(chunk, size - first)};
}

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      low.push_back(i);
      if (i * i != number) high.push_back(number / i);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// All ways to place a tensor on a mesh that give the first rank a part of the right shape.
class Enumeration {
 public:
  Enumeration(const Shape& whole, const Shape& shard, const KnownLayout& known, bool may_sum,
              std::vector<ShardLayout>& layouts)
      : shard_(shard),
        known_(known),
        may_sum_(may_sum),
        layouts_(layouts),
        left_(whole.dims().begin(), whole.dims().end()) {}

  void run(std::span<const std::int64_t> mesh) {
    layout_ = {.mesh = {mesh.begin(), mesh.end()}, .placements = {}};
    place(0);
  }

 private:
  void place(std::size_t dimension) {
    if (layouts_.size() >= kMostLayouts) return;
    if (dimension == layout_.mesh.size()) {
      if (std::ranges::equal(left_, shard_.dims())) layouts_.push_back(layout_);
      return;
    }
    if (dimension < known_.placements.size() && known_.placements[dimension])
      return place_known(*known_.placements[dimension], dimension);
    place_as({.kind = Kind::replicate}, dimension);
    if (layout_.mesh[dimension] == 1) return;  // all is the same there
    if (may_sum_) place_as({.kind = Kind::sum}, dimension);
    for (std::size_t axis = 0; axis < left_.size(); ++axis) {
      const std::int64_t parts = layout_.mesh[dimension], size = left_[axis];
      if (size <= shard_[axis]) continue;
      for (const std::int64_t blocks :
           size % parts == 0 ? divisors_of(size / parts) : std::vector<std::int64_t>{1}) {
        left_[axis] = size % parts == 0 ? size / parts : (size + parts - 1) / parts;
        place_as({.kind = Kind::shard, .axis = axis, .blocks = blocks}, dimension);
        left_[axis] = size;
      }
    }
  }
  void place_known(const Placement& known, std::size_t dimension) {
    if (known.kind != Kind::shard) return place_as(known, dimension);
    if (known.axis >= left_.size()) return;
    const std::int64_t parts = layout_.mesh[dimension], size = left_[known.axis];
    if (size % known.blocks != 0) return;
    left_[known.axis] = (size / known.blocks + parts - 1) / parts * known.blocks;
    place_as(known, dimension);
    left_[known.axis] = size;
  }
  void place_as(const Placement& placement, std::size_t dimension) {
    layout_.placements.push_back(placement);
    place(dimension + 1);
    layout_.placements.pop_back();
  }

  const Shape& shard_;
  const KnownLayout& known_;
  bool may_sum_;
  std::vector<ShardLayout>& layouts_;
  std::vector<std::int64_t> left_;  // of the axes
  ShardLayout layout_;
};

std::pair<std::ptrdiff_t, std::ptrdiff_t> plainness(const ShardLayout& layout) {
  return {std::ranges::count(layout.placements, Kind::sum, &Placement::kind),
          std::ranges::count_if(layout.placements, [](const Placement& one) { return one.blocks > 1; })};
}

}  // namespace

bool ShardLayout::has_sums() const {
  return std::ranges::any_of(placements, [](const Placement& one) { return one.kind == Kind::sum; });
}

std::string ShardLayout::describe() const {
  std::string text;
  std::int64_t terms = 1;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const Placement& one = placements[i];
    if (one.kind == Kind::sum) terms *= mesh[i];
    if (one.kind != Kind::shard) continue;
    text += (text.empty() ? "" : ", ") + ("axis " + std::to_string(one.axis)) + " in " +
            std::to_string(mesh[i]) + " parts";
    if (one.blocks > 1) text += " of each of " + std::to_string(one.blocks) + " blocks";
  }
  if (terms > 1) text += (text.empty() ? "" : ", ") + ("a sum of " + std::to_string(terms));
  return text;
}

std::vector<std::size_t> ShardLayout::terms_of(std::size_t rank) const {
  std::vector<std::size_t> terms{rank};
  std::size_t step = 1;
  for (std::size_t i = mesh.size(); i-- > 0; step *= static_cast<std::size_t>(mesh[i])) {
    if (placements[i].kind != Kind::sum) continue;
    const auto size = static_cast<std::size_t>(mesh[i]);
    const std::size_t place = rank / step % size;
    std::vector<std::size_t> more;
    for (const std::size_t term : terms)
      for (std::size_t other = 0; other < size; ++other) more.push_back(term - place * step + other * step);
    terms = std::move(more);
  }
  std::ranges::sort(terms);
  return terms;
}

std::optional<ShardViews> view_shard(const TensorView& whole, const TensorView& shard,
                                     const ShardLayout& layout, std::size_t rank) {
  FactoredView of_whole(whole), of_shard(shard);
  const std::vector<std::int64_t> places = places_of(layout.mesh, rank);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Placement& one = layout.placements[i];
    if (one.kind != Kind::shard) continue;
    if (one.axis >= whole.shape.rank()) return std::nullopt;
    const std::int64_t size = of_whole.size(one.axis);
    if (one.blocks < 1 || size % one.blocks != 0) return std::nullopt;
    const Chunk cut = cut_chunk(size / one.blocks, layout.mesh[i], places[i]);
    if (!of_whole.cut(one.axis, one.blocks, cut.first, cut.length)) return std::nullopt;
  }
  if (!FactoredView::refine(of_whole, of_shard)) return std::nullopt;
  return FactoredView::join(of_whole, of_shard);
}

std::vector<ShardLayout> find_shard_layouts(const Shape& whole, const Shape& shard, std::size_t ranks,
                                            const KnownLayout& known, bool may_sum) {
  std::vector<ShardLayout> layouts;
  if (shard.rank() != whole.rank()) return layouts;
  Enumeration enumeration(whole, shard, known, may_sum, layouts);
  if (!known.mesh.empty())
    enumeration.run(known.mesh);
  else
    for (const auto& one : meshes_of(ranks)) enumeration.run(one);
  std::ranges::stable_sort(layouts, {}, plainness);
  return layouts;
}

std::vector<std::vector<std::int64_t>> meshes_of(std::size_t ranks) {
  std::vector<std::int64_t> primes;
  auto left = static_cast<std::int64_t>(ranks);
  for (std::int64_t prime = 2; left > 1; ++prime)
    for (; left % prime == 0; left /= prime) primes.push_back(prime);
  std::vector<std::vector<std::int64_t>> meshes;
  do meshes.push_back(primes);
  while (meshes.size() < kMostMeshes && std::ranges::next_permutation(primes).found);
  return meshes;
}

Shape fold_axes(const Shape& shape, std::size_t axes) {
  if (shape.rank() <= axes || axes == 0) return shape;
  const auto dims = shape.dims();
  const std::size_t folded = dims.size() - axes + 1;
  const Shape first(dims.first(folded));
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(model::element_count(first).value_or(0))};
  sizes.insert(sizes.end(), dims.begin() + static_cast<std::ptrdiff_t>(folded), dims.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

ShardViews thin_out(ShardViews views, std::uint64_t most) {
  while (views.whole.element_count() > most) {
    const auto sizes = views.whole.shape.dims();
    const std::size_t axis = static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
    for (TensorView* view : {&views.whole, &views.shard}) {
      const std::int64_t size = view->shape[axis];
      const std::int64_t step = size % 2 == 0 && size > 2 ? 3 : 2;  // an odd step meets even and odd places
      view->shape.dims()[axis] = (size + step - 1) / step;
      view->strides.dims()[axis] *= step;
    }
  }
  return views;
}

}  // namespace opdump::compare
